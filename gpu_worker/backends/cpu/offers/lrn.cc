#include "gpu_worker/backends/cpu/offers/family_offer.h"
#include "gpu_worker/backends/cpu/offers/worth_dividing.h"
#include "gpu_worker/backends/groups/format_rows.h"
#include "gpu_worker/backends/groups/node_checks.h"

namespace plait {
namespace {

bool RunsLrn(const Graph& graph, NodeId node) {
  return IsOneOf(graph, node, {OpKind::kLRN}) && AllFloat32(graph, node);
}

}  // namespace

const FamilyOffer kLrnOffer = {
    .name = "lrn",
    .runs = RunsLrn,
    .formats = PlainRow,
    .worth_dividing = HasManyElements,
};

}  // namespace plait
