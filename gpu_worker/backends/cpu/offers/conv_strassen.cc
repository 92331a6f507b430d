#include "gpu_worker/backends/cpu/offers/family_offer.h"
#include "gpu_worker/backends/cpu/offers/strassen_product.h"
#include "gpu_worker/backends/cpu/offers/worth_dividing.h"
#include "gpu_worker/backends/groups/epilogue.h"
#include "gpu_worker/backends/groups/format_rows.h"

namespace plait {
namespace {

bool RunsConvStrassen(const Graph& graph, NodeId node) {
  const std::optional<ConstantProduct> product = PixelProductAt(graph, node);
  return product.has_value() && IsStrassenProduct(*product);
}

}  // namespace

const FamilyOffer kConvStrassenOffer = {
    .name = "conv_strassen",
    .runs = RunsConvStrassen,
    .needs_admission = true,
    .instruction_set = "avx2",
    .grow = GrowBehind<RunsConvStrassen>,
    // Rows are pixels, whose channels lie beside each other in channels-last only.
    .formats = ChannelsLastRow,
    .reads_parts = true,
    .writes_parts = true,
    .expected_share = [](const Kernel&) { return 0.72; },
    .worth_dividing = HasManyFlops,
};

}  // namespace plait
