#include "gpu_worker/backends/cpu/offers/family_offer.h"
#include "gpu_worker/backends/groups/format_rows.h"

namespace plait {
namespace {

// The slow evaluation has every operator; an opaque node is offered too, and refused at load.
bool RunsReference(const Graph& /*graph*/, NodeId /*node*/) { return true; }

}  // namespace

const FamilyOffer kReferenceOffer = {
    .name = "reference",
    .runs = RunsReference,
    .last_resort = true,
    .formats = PlainRow,
    .expected_share = [](const Kernel&) { return 0.01; },
};

}  // namespace plait
