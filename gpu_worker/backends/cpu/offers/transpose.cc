#include "gpu_worker/backends/cpu/offers/family_offer.h"
#include "gpu_worker/backends/cpu/offers/worth_dividing.h"
#include "gpu_worker/backends/groups/move_chains.h"

namespace plait {

const FamilyOffer kTransposeOffer = {
    .name = "transpose",
    .runs = IsMove,
    .grow = GrowMoves,
    .formats = MoveRows,
    .worth_dividing = HasManyElements,
};

}  // namespace plait
