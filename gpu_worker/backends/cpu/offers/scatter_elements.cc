#include "gpu_worker/backends/cpu/offers/family_offer.h"
#include "gpu_worker/backends/cpu/offers/worth_dividing.h"
#include "gpu_worker/backends/groups/format_rows.h"
#include "gpu_worker/backends/groups/node_checks.h"

namespace plait {
namespace {

// What only replaces need not be understood.
bool RunsScatterElements(const Graph& graph, NodeId node) {
  if (!IsOneOf(graph, node, {OpKind::kScatterElements})) return false;
  const DataType indices = graph.input_type(node, 1).dtype;
  const bool replaces = graph.node(node).attributes->String("reduction", "none") == "none";
  return IsMovable(graph, node) && (indices == DataType::kInt64 || indices == DataType::kInt32) &&
         graph.input_type(node, 1).elements() > 0 &&
         (replaces || graph.input_type(node, 0).dtype == DataType::kFloat32);
}

}  // namespace

const FamilyOffer kScatterElementsOffer = {
    .name = "scatter_elements",
    .runs = RunsScatterElements,
    .formats = PlainRow,
    .worth_dividing = HasManyElements,
};

}  // namespace plait
