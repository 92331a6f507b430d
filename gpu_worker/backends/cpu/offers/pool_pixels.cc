#include "gpu_worker/backends/cpu/offers/family_offer.h"
#include "gpu_worker/backends/cpu/offers/worth_dividing.h"
#include "gpu_worker/backends/groups/epilogue.h"
#include "gpu_worker/backends/groups/format_rows.h"
#include "gpu_worker/backends/groups/node_checks.h"

namespace plait {
namespace {

bool RunsPoolPixels(const Graph& graph, NodeId id) {
  if (!IsOneOf(graph, id, {OpKind::kAveragePool, OpKind::kMaxPool})) return false;
  const Node& node = graph.node(id);
  return HasOneReadOutput(graph, node) && AllFloat32(graph, id) && HasExplicitPadding(node) &&
         IsSpatial(graph, id) && graph.input_type(id, 0).shape[1] >= kLoopChannelsMin;
}

// Not behind a bias, which the loops do not begin with.
std::vector<std::vector<NodeId>> GrowPoolPixels(const Graph& graph, NodeId id) {
  if (!RunsPoolPixels(graph, id)) return {};
  const std::optional<PostOperation> next =
      NextPostOperation(graph, graph.node(id).outputs[0], ChannelAxisOf(graph, id));
  if (next.has_value() && next->kind == PostOperation::Kind::kAddChannel) return {};
  return GrowEpilogues(graph, id);
}

}  // namespace

const FamilyOffer kPoolPixelsOffer = {
    .name = "pool_pixels",
    .runs = RunsPoolPixels,
    .grow = GrowPoolPixels,
    // Vectors are channels of a pixel, which lie beside each other in channels-last only.
    .formats = ChannelsLastRow,
    .reads_parts = true,
    .writes_parts = true,
    .worth_dividing = HasManyElements,
};

}  // namespace plait
