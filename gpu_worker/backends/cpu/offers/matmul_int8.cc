#include "gpu_worker/backends/cpu/offers/digit_variants.h"
#include "gpu_worker/backends/cpu/offers/family_offer.h"
#include "gpu_worker/backends/cpu/offers/plane_layers.h"
#include "gpu_worker/backends/cpu/offers/worth_dividing.h"
#include "gpu_worker/backends/groups/epilogue.h"
#include "gpu_worker/backends/groups/format_rows.h"

namespace plait {

const FamilyOffer kMatmulInt8Offer = {
    .name = "matmul_int8",
    .runs = IsProductInPlanes,
    .needs_admission = true,
    .planes = Planes::kDigits,
    .instruction_set = "amx",
    .grow = GrowBehind<IsProductInPlanes>,
    .formats = PlainRow,
    .variants = DigitVariants,
    .more_exact = MoreExactDigits,
    .less_exact = LessExactDigits,
    .worth_dividing = HasManyFlops,
};

}  // namespace plait
