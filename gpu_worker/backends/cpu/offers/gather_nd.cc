#include "gpu_worker/backends/cpu/offers/family_offer.h"
#include "gpu_worker/backends/cpu/offers/worth_dividing.h"
#include "gpu_worker/backends/groups/format_rows.h"
#include "gpu_worker/backends/groups/node_checks.h"

namespace plait {
namespace {

// Slices are copied whole, whatever they hold; only the indices have to be understood.
bool RunsGatherNd(const Graph& graph, NodeId node) {
  if (!IsOneOf(graph, node, {OpKind::kGatherND})) return false;
  const DataType indices = graph.input_type(node, 1).dtype;
  return IsMovable(graph, node) && (indices == DataType::kInt64 || indices == DataType::kInt32);
}

}  // namespace

const FamilyOffer kGatherNdOffer = {
    .name = "gather_nd",
    .runs = RunsGatherNd,
    .formats = PlainRow,
    .worth_dividing = WritesManyElements,
};

}  // namespace plait
