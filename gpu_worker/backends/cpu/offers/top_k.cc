#include "gpu_worker/backends/cpu/offers/family_offer.h"
#include "gpu_worker/backends/cpu/offers/worth_dividing.h"
#include "gpu_worker/backends/groups/format_rows.h"
#include "gpu_worker/backends/groups/node_checks.h"

namespace plait {
namespace {

// A line is copied before it is sorted.
constexpr int64_t kLineMax = 1 << 24;

bool RunsTopK(const Graph& graph, NodeId node) {
  if (!IsOneOf(graph, node, {OpKind::kTopK})) return false;
  const TensorType& input = graph.input_type(node, 0);
  const std::optional<int> axis = AxisOf(graph, node, -1);
  return (IsFloat(input.dtype) || IsInteger(input.dtype)) && axis.has_value() &&
         graph.output_type(node).elements() > 0 && input.shape[*axis] <= kLineMax;
}

}  // namespace

const FamilyOffer kTopKOffer = {
    .name = "top_k",
    .runs = RunsTopK,
    .formats = PlainRow,
    .worth_dividing = HasManyElements,
};

}  // namespace plait
