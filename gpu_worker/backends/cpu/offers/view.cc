#include "gpu_worker/backends/cpu/offers/family_offer.h"
#include "gpu_worker/backends/groups/move_chains.h"

namespace plait {

const FamilyOffer kViewOffer = {
    .name = kViewFamily,
    .runs = IsView,
    .grow = GrowViews,
    .formats = ViewRows,
};

}  // namespace plait
