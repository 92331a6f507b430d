#include "gpu_worker/backends/cpu/offers/family_offer.h"
#include "gpu_worker/backends/cpu/offers/worth_dividing.h"
#include "gpu_worker/backends/groups/format_rows.h"
#include "gpu_worker/backends/groups/node_checks.h"

namespace plait {
namespace {

// Rows are copied whole, whatever they hold; only the indices have to be understood.
bool RunsGather(const Graph& graph, NodeId node) {
  if (!IsOneOf(graph, node, {OpKind::kGather})) return false;
  const DataType indices = graph.input_type(node, 1).dtype;
  return IsMovable(graph, node) && (indices == DataType::kInt64 || indices == DataType::kInt32);
}

}  // namespace

const FamilyOffer kGatherOffer = {
    .name = "gather",
    .runs = RunsGather,
    .formats = PlainRow,
    .worth_dividing = HasManyElements,
};

}  // namespace plait
