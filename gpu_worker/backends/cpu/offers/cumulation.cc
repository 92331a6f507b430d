#include "gpu_worker/backends/cpu/offers/family_offer.h"
#include "gpu_worker/backends/cpu/offers/worth_dividing.h"
#include "gpu_worker/backends/groups/format_rows.h"
#include "gpu_worker/backends/groups/node_checks.h"
#include "gpu_worker/backends/groups/reduced_axes.h"

namespace plait {
namespace {

// The axis is a second input, as the axes of a reduction are.
bool RunsCumulation(const Graph& graph, NodeId node) {
  if (!IsOneOf(graph, node, {OpKind::kCumProd, OpKind::kCumSum})) return false;
  const TensorType& input = graph.input_type(node, 0);
  if (graph.node(node).inputs.size() != 2 || graph.node(node).inputs[1] == kNoTensor) return false;
  if (!IsFloat(input.dtype) && !IsInteger(input.dtype)) return false;
  const std::optional<std::vector<int>> axes = ReducedAxes(graph, node);
  return input.elements() > 0 && axes.has_value() && axes->size() == 1 && axes->front() >= 0 &&
         axes->front() < input.rank();
}

}  // namespace

const FamilyOffer kCumulationOffer = {
    .name = "cumulation",
    .runs = RunsCumulation,
    .formats = PlainRow,
    .worth_dividing = HasManyElements,
};

}  // namespace plait
