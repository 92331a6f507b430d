#include "gpu_worker/backends/cpu/offers/family_offer.h"
#include "gpu_worker/backends/cpu/offers/rnn_layer_pattern.h"
#include "gpu_worker/backends/groups/format_rows.h"

namespace plait {
namespace {

bool RunsRnnLayer(const Graph& graph, NodeId node) { return RnnLayerAt(graph, node).has_value(); }

// Threads meet at every step, and one that waits for the others costs what 2^17 operations do.
// Those that have a direction each meet once.
bool WorthDividingLayer(const Graph& graph, const Kernel& kernel) {
  constexpr int64_t kFlopsMin = int64_t{1} << 18;
  const std::optional<RnnLayer> found = RnnLayerAt(graph, kernel.nodes[0]);
  if (!found.has_value()) return false;
  const RecurrentLayer& layer = found->layer;
  const int64_t step_flops = 2 * found->kind.gates * layer.batch * layer.hidden * layer.hidden;
  return step_flops * (DividesDirections(*found) ? layer.steps : 1) >= kFlopsMin;
}

}  // namespace

const FamilyOffer kRnnLayerOffer = {
    .name = "rnn_layer",
    .runs = RunsRnnLayer,
    .instruction_set = "avx2",
    .formats = PlainRow,
    .worth_dividing = WorthDividingLayer,
};

}  // namespace plait
