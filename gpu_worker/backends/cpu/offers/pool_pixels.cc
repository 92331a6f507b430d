#include "gpu_worker/backends/cpu/offers/format_rows.h"
#include "gpu_worker/backends/cpu/offers/node_checks.h"
#include "gpu_worker/backends/cpu/offers/worth_dividing.h"

namespace plait {
namespace {

// The loops work on whole vectors of channels.
constexpr int64_t kChannelsMin = 16;

bool Runs(const Graph& graph, NodeId id) {
  if (!IsOneOf(graph, id, {OpKind::kAveragePool, OpKind::kMaxPool})) return false;
  const Node& node = graph.node(id);
  return node.outputs.size() == 1 && AllFloat32(graph, id) && HasExplicitPadding(node) &&
         IsSpatial(graph, id) && graph.input_type(id, 0).shape[1] >= kChannelsMin;
}

}  // namespace

const FamilyOffer kPoolPixelsOffer = {
    .name = "pool_pixels",
    .runs = Runs,
    // Vectors are channels of a pixel, which lie beside each other in channels-last only.
    .formats = ChannelsLastRow,
    .reads_parts = true,
    .writes_parts = true,
    .worth_dividing = HasManyElements,
};

}  // namespace plait
