#include "gpu_worker/backends/cpu/offers/family_offer.h"
#include "gpu_worker/backends/cpu/offers/worth_dividing.h"
#include "gpu_worker/backends/groups/format_rows.h"
#include "gpu_worker/backends/groups/recurrence_pattern.h"

namespace plait {
namespace {

std::vector<std::vector<NodeId>> RecurrenceGroups(const Graph& graph, NodeId node) {
  std::vector<NodeId> group = GrowRecurrence(graph, node);
  if (group.empty()) return {};
  return {std::move(group)};
}

// Threads take columns, and all rows of them: what counts are the elements of all nodes.
bool WorthDividing(const Graph& graph, const Kernel& kernel) {
  int64_t elements = 0;
  for (const NodeId node : kernel.nodes) elements += graph.output_type(node).elements();
  return elements >= kWideElementsMin;
}

}  // namespace

const FamilyOffer kRecurrenceOffer = {
    .name = "recurrence",
    .grow = RecurrenceGroups,
    .formats = PlainRow,
    .worth_dividing = WorthDividing,
};

}  // namespace plait
