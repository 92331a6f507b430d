#include "gpu_worker/backends/cpu/offers/family_offer.h"
#include "gpu_worker/backends/cpu/offers/worth_dividing.h"
#include "gpu_worker/backends/groups/format_rows.h"
#include "gpu_worker/backends/groups/node_checks.h"

namespace plait {
namespace {

// The repeats of Tile are read when it loads; Expand's result has them in its shape.
bool RunsExpand(const Graph& graph, NodeId node) {
  if (!IsOneOf(graph, node, {OpKind::kExpand, OpKind::kTile})) return false;
  const bool repeats_known =
      graph.node(node).op == OpKind::kExpand || HasInlineInputs(graph, graph.node(node), 1);
  return IsMovable(graph, node) && repeats_known;
}

// An input of a lower rank stays row-major.
// Both formats suit, as an axis that repeats is a distance of 0 in either.
std::vector<FormatRow> FormatsOfExpand(const Graph& graph, absl::Span<const NodeId> nodes) {
  if (graph.output_type(nodes.front()).rank() != 4) return PlainRow(graph, nodes);
  return RowsIn(graph, nodes, {Format::kPlain, Format::kChannelsLast});
}

}  // namespace

const FamilyOffer kExpandOffer = {
    .name = "expand",
    .runs = RunsExpand,
    .formats = FormatsOfExpand,
    .worth_dividing = HasManyElements,
};

}  // namespace plait
