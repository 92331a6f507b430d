#include "gpu_worker/backends/cpu/offers/family_offer.h"

namespace plait {
namespace {

// A strided copy, which is all the same to it.
bool Converts(const TensorType& /*type*/, Format from, Format to) { return from != to; }

}  // namespace

const FamilyOffer kReorderOffer = {
    .name = "reorder",
    .reads_parts = true,
    .writes_parts = true,
    .converts = Converts,
};

}  // namespace plait
