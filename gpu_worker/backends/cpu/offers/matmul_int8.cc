#include "gpu_worker/backends/cpu/offers/constant_product.h"
#include "gpu_worker/backends/cpu/offers/digit_limits.h"
#include "gpu_worker/backends/cpu/offers/digit_variants.h"
#include "gpu_worker/backends/cpu/offers/epilogue.h"
#include "gpu_worker/backends/cpu/offers/format_rows.h"
#include "gpu_worker/backends/cpu/offers/worth_dividing.h"

namespace plait {
namespace {

bool Runs(const Graph& graph, NodeId id) {
  const std::optional<ConstantProduct> product = ConstantProductAt(graph, id);
  return product.has_value() && IsDigitProduct({product->rows, product->depth, product->columns});
}

}  // namespace

const FamilyOffer kMatmulInt8Offer = {
    .name = "matmul_int8",
    .runs = Runs,
    .needs_admission = true,
    .instruction_set = "amx",
    .grow = GrowBehind<Runs>,
    .formats = PlainRow,
    .variants = DigitVariants,
    .more_exact = MoreExactDigits,
    .less_exact = LessExactDigits,
    .worth_dividing = HasManyFlops,
};

}  // namespace plait
