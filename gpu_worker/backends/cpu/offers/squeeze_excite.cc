#include "gpu_worker/backends/cpu/offers/family_offer.h"
#include "gpu_worker/backends/cpu/offers/squeeze_excite_pattern.h"
#include "gpu_worker/backends/cpu/offers/worth_dividing.h"
#include "gpu_worker/backends/groups/format_rows.h"

namespace plait {
namespace {

// Up to the gate too: what multiplies by it may have to wait for others, or be part of a kernel of
// its own.
std::vector<std::vector<NodeId>> GrowSqueezeExcite(const Graph& graph, NodeId node) {
  const std::optional<SqueezeExcitePattern> pattern = SqueezeExciteAt(graph, node);
  if (!pattern.has_value()) return {};
  if (pattern->multiplied == kNoNode) return {pattern->nodes};
  return {pattern->nodes, WholeSqueezeExcite(*pattern)};
}

}  // namespace

const FamilyOffer kSqueezeExciteOffer = {
    .name = "squeeze_excite",
    .instruction_set = "avx2",
    .grow = GrowSqueezeExcite,
    // Vectors are channels of a pixel, which lie beside each other in channels-last only.
    .formats = ChannelsLastRow,
    .worth_dividing = HasManyElements,
};

}  // namespace plait
