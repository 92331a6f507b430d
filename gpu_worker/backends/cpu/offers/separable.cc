#include "gpu_worker/backends/cpu/offers/family_offer.h"
#include "gpu_worker/backends/cpu/offers/worth_dividing.h"
#include "gpu_worker/backends/groups/format_rows.h"
#include "gpu_worker/backends/groups/separable_pattern.h"

namespace plait {
namespace {

// 256 KiB: what is smaller stays in the second caches between two kernels, and is written and read
// at no cost that a kernel of both would save. Times of lone kernels, which find everything outside
// of those caches, would say otherwise.
constexpr int64_t kElementsMin = 65536;

std::vector<std::vector<NodeId>> GrowSeparable(const Graph& graph, NodeId node) {
  const std::optional<SeparablePattern> pattern = SeparableAt(graph, node);
  if (!pattern.has_value() || graph.output_type(node).elements() < kElementsMin) return {};
  return GrowEpiloguesBehind(graph, NodesOf(*pattern), pattern->pointwise);
}

}  // namespace

const FamilyOffer kSeparableOffer = {
    .name = "separable",
    .instruction_set = "avx2",
    .grow = GrowSeparable,
    .formats = ChannelsLastRow,
    .reads_parts = true,
    .writes_parts = true,
    .worth_dividing = HasManyFlops,
};

}  // namespace plait
