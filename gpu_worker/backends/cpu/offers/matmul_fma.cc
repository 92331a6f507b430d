#include "gpu_worker/backends/cpu/offers/constant_product.h"
#include "gpu_worker/backends/cpu/offers/family_offer.h"
#include "gpu_worker/backends/cpu/offers/worth_dividing.h"
#include "gpu_worker/backends/groups/epilogue.h"
#include "gpu_worker/backends/groups/format_rows.h"

namespace plait {
namespace {

// A block of columns has twice as many.
constexpr int64_t kTiledColumnsMin = 16;

bool RunsMatmulFma(const Graph& graph, NodeId node) {
  const std::optional<ConstantProduct> product = ConstantProductAt(graph, node);
  return product.has_value() && product->columns >= kTiledColumnsMin;
}

}  // namespace

const FamilyOffer kMatmulFmaOffer = {
    .name = "matmul_fma",
    .runs = RunsMatmulFma,
    .instruction_set = "avx2",
    .grow = GrowBehind<RunsMatmulFma>,
    .formats = PlainRow,
    .expected_share = [](const Kernel&) { return 0.65; },
    .worth_dividing = HasManyFlops,
};

}  // namespace plait
