#include "gpu_worker/backends/cpu/offers/epilogue.h"
#include "gpu_worker/backends/cpu/offers/family_offer.h"
#include "gpu_worker/backends/cpu/offers/format_rows.h"
#include "gpu_worker/backends/cpu/offers/separable_pattern.h"
#include "gpu_worker/backends/cpu/offers/worth_dividing.h"

namespace plait {
namespace {

std::vector<std::vector<NodeId>> Grow(const Graph& graph, NodeId node) {
  return IsDepthwise(graph, node) ? GrowEpilogues(graph, node) : std::vector<std::vector<NodeId>>();
}

// Vectors are channels of a pixel, which lie beside each other in channels-last only.
std::vector<FormatRow> Formats(const Graph& graph, absl::Span<const NodeId> nodes) {
  return {RowIn(graph, nodes, Format::kChannelsLast)};
}

}  // namespace

const FamilyOffer kDepthwiseOffer = {
    .name = "depthwise",
    .runs = IsDepthwise,
    .grow = Grow,
    .formats = Formats,
    .worth_dividing = HasManyElements,
};

}  // namespace plait
