#include "gpu_worker/backends/cpu/offers/family_offer.h"
#include "gpu_worker/backends/cpu/offers/rnn_layer_pattern.h"
#include "gpu_worker/backends/groups/format_rows.h"

namespace plait {
namespace {

bool RunsRnnLayer(const Graph& graph, NodeId node) { return RnnLayerAt(graph, node).has_value(); }

// Threads that divide columns meet at every step, those that have a direction each meet once.
bool WorthDividingLayer(const Graph& graph, const Kernel& kernel) {
  constexpr int64_t kFlopsMin = int64_t{1} << 18;
  const std::optional<RnnLayer> found = RnnLayerAt(graph, kernel.nodes[0]);
  if (!found.has_value()) return false;
  if (MeetsInSteps(*found)) return true;
  return DividesDirections(*found) && StepFlops(*found) * found->layer.steps >= kFlopsMin;
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
