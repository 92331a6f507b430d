#include "gpu_worker/backends/cpu/offers/family_offer.h"
#include "gpu_worker/backends/cpu/offers/worth_dividing.h"
#include "gpu_worker/backends/groups/format_rows.h"
#include "gpu_worker/backends/groups/resized_image.h"

namespace plait {

const FamilyOffer kResizeOffer = {
    .name = "resize",
    .runs = IsResizedImage,
    .formats = SpatialRows,
    .reads_parts = true,
    .writes_parts = true,
    .worth_dividing = HasManyElements,
};

}  // namespace plait
