#include "gpu_worker/backends/cpu/offers/family_offer.h"
#include "gpu_worker/backends/cpu/offers/worth_dividing.h"
#include "gpu_worker/backends/groups/format_rows.h"
#include "gpu_worker/backends/groups/node_checks.h"

namespace plait {
namespace {

// Elements are copied whatever they hold; only the indices have to be understood.
bool RunsGatherElements(const Graph& graph, NodeId node) {
  if (!IsOneOf(graph, node, {OpKind::kGatherElements})) return false;
  const DataType indices = graph.input_type(node, 1).dtype;
  return IsMovable(graph, node) && AxisOf(graph, node, 0).has_value() &&
         (indices == DataType::kInt64 || indices == DataType::kInt32);
}

}  // namespace

const FamilyOffer kGatherElementsOffer = {
    .name = "gather_elements",
    .runs = RunsGatherElements,
    .formats = PlainRow,
    .worth_dividing = WritesManyElements,
};

}  // namespace plait
