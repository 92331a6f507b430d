#include "gpu_worker/backends/cpu/offers/family_offer.h"
#include "gpu_worker/backends/cpu/offers/worth_dividing.h"
#include "gpu_worker/backends/groups/elementwise_group.h"
#include "gpu_worker/backends/groups/format_rows.h"
#include "gpu_worker/backends/groups/node_checks.h"

namespace plait {
namespace {

bool RunsElementwise(const Graph& graph, NodeId node) {
  return HasEnds(graph, node) && IsElementwise(graph, node);
}

// Only the largest group that starts here; those that start at later members are offered there.
std::vector<std::vector<NodeId>> GrowElementwise(const Graph& graph, NodeId node) {
  if (!RunsElementwise(graph, node)) return {};
  std::vector<NodeId> group = GrowElementwiseGroup(graph, node);
  if (group.size() == 1) return {};
  return {std::move(group)};
}

// All results have one shape and lie alike; operands are read at any distances.
std::vector<FormatRow> FormatsOfElementwise(const Graph& graph, absl::Span<const NodeId> nodes) {
  if (graph.output_type(nodes.front()).rank() != 4) return PlainRow(graph, nodes);
  return RowsIn(graph, nodes, {Format::kPlain, Format::kChannelsLast});
}

}  // namespace

const FamilyOffer kElementwiseOffer = {
    .name = "elementwise",
    .runs = RunsElementwise,
    .grow = GrowElementwise,
    .formats = FormatsOfElementwise,
    .reads_parts = true,
    .writes_parts = true,
    .worth_dividing = HasManyElements,
};

}  // namespace plait
