#include "gpu_worker/backends/cpu/offers/family_offer.h"
#include "gpu_worker/backends/cpu/offers/worth_dividing.h"
#include "gpu_worker/backends/groups/format_rows.h"
#include "gpu_worker/backends/groups/node_checks.h"

namespace plait {
namespace {

bool RunsConcat(const Graph& graph, NodeId node) {
  return IsOneOf(graph, node, {OpKind::kConcat}) && IsMovable(graph, node);
}

}  // namespace

const FamilyOffer kConcatOffer = {
    .name = "concat",
    .runs = RunsConcat,
    .formats = SpatialRows,
    .reads_parts = true,
    .writes_parts = true,
    .worth_dividing = HasManyElements,
};

}  // namespace plait
