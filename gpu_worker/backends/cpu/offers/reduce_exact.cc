#include "gpu_worker/backends/cpu/offers/family_offer.h"
#include "gpu_worker/backends/cpu/offers/worth_dividing.h"
#include "gpu_worker/backends/groups/format_rows.h"
#include "gpu_worker/backends/groups/node_checks.h"
#include "gpu_worker/backends/groups/reduced_axes.h"

namespace plait {
namespace {

// A product leaves the range of float32 on its way soon, and integers wrap: both are combined as
// the reference does. Sums of float32 have a family of their own.
bool RunsReduceExact(const Graph& graph, NodeId node) {
  if (!IsOneOf(graph, node,
               {OpKind::kReduceMax, OpKind::kReduceMin, OpKind::kReduceProd, OpKind::kReduceSum})) {
    return false;
  }
  const OpKind op = graph.node(node).op;
  const TensorType& input = graph.input_type(node, 0);
  const bool is_product = op == OpKind::kReduceProd;
  const bool is_sum = op == OpKind::kReduceSum && input.dtype != DataType::kFloat32;
  if (!IsInteger(input.dtype) && !(IsFloat(input.dtype) && (is_product || is_sum))) return false;
  return input.elements() > 0 && graph.output_type(node).elements() > 0 &&
         ReducedAxes(graph, node).has_value();
}

}  // namespace

const FamilyOffer kReduceExactOffer = {
    .name = "reduce_exact",
    .runs = RunsReduceExact,
    .formats = PlainRow,
    .worth_dividing = HasManyElements,
};

}  // namespace plait
