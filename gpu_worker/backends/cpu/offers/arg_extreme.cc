#include <limits>

#include "gpu_worker/backends/cpu/offers/family_offer.h"
#include "gpu_worker/backends/cpu/offers/worth_dividing.h"
#include "gpu_worker/backends/groups/format_rows.h"
#include "gpu_worker/backends/groups/node_checks.h"

namespace plait {
namespace {

// Places are counted in int32, which are as wide as floats. Hardmax is an ArgMax that writes ones
// to the places.
bool RunsArgExtreme(const Graph& graph, NodeId node) {
  if (!IsOneOf(graph, node, {OpKind::kArgMax, OpKind::kArgMin, OpKind::kHardmax})) return false;
  const TensorType& input = graph.input_type(node, 0);
  const bool is_hardmax = graph.node(node).op == OpKind::kHardmax;
  const std::optional<int> axis = AxisOf(graph, node, is_hardmax ? -1 : 0);
  return (IsFloat(input.dtype) || IsInteger(input.dtype)) && input.elements() > 0 &&
         axis.has_value() && input.shape[*axis] <= std::numeric_limits<int32_t>::max();
}

}  // namespace

const FamilyOffer kArgExtremeOffer = {
    .name = "arg_extreme",
    .runs = RunsArgExtreme,
    .formats = PlainRow,
    .worth_dividing = HasManyElements,
};

}  // namespace plait
