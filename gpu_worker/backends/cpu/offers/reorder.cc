#include "gpu_worker/backends/cpu/offers/family_offer.h"
#include "optimizer/kernels/format_rules.h"

namespace plait {
namespace {

// A strided copy, to which all layouts are the same.
bool Converts(const TensorType& type, Format from, Format to) {
  return from != to && IsStoredWhole(type, from) && IsStoredWhole(type, to);
}

}  // namespace

const FamilyOffer kReorderOffer = {
    .name = "reorder",
    .reads_parts = true,
    .writes_parts = true,
    .converts = Converts,
};

}  // namespace plait
