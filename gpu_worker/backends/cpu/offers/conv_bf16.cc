#include "gpu_worker/backends/cpu/offers/bf16_variants.h"
#include "gpu_worker/backends/cpu/offers/family_offer.h"
#include "gpu_worker/backends/cpu/offers/plane_layers.h"
#include "gpu_worker/backends/cpu/offers/worth_dividing.h"
#include "gpu_worker/backends/groups/epilogue.h"
#include "gpu_worker/backends/groups/format_rows.h"

namespace plait {

const FamilyOffer kConvBf16Offer = {
    .name = "conv_bf16",
    .runs = IsConvolutionInPlanes,
    .needs_admission = true,
    .planes = Planes::kBf16,
    .instruction_set = "amx",
    .grow = GrowBehind<IsConvolutionInPlanes>,
    // In plain the pixels of a piece would not lie beside each other.
    .formats = ChannelsLastRow,
    .variants = Bf16Variants,
    .more_exact = MoreExactBf16,
    .less_exact = LessExactBf16,
    .worth_dividing = HasManyFlops,
};

}  // namespace plait
