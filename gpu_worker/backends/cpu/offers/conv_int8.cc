#include "gpu_worker/backends/cpu/offers/digit_variants.h"
#include "gpu_worker/backends/cpu/offers/family_offer.h"
#include "gpu_worker/backends/cpu/offers/plane_layers.h"
#include "gpu_worker/backends/cpu/offers/worth_dividing.h"
#include "gpu_worker/backends/groups/epilogue.h"
#include "gpu_worker/backends/groups/format_rows.h"

namespace plait {

const FamilyOffer kConvInt8Offer = {
    .name = "conv_int8",
    .runs = IsConvolutionInPlanes,
    .needs_admission = true,
    .planes = Planes::kDigits,
    .instruction_set = "amx",
    .grow = GrowBehind<IsConvolutionInPlanes>,
    // In plain the pixels of a piece would not lie beside each other.
    .formats = ChannelsLastRow,
    .variants = DigitVariants,
    .more_exact = MoreExactDigits,
    .less_exact = LessExactDigits,
    .worth_dividing = HasManyFlops,
};

}  // namespace plait
