#include "gpu_worker/backends/cpu/offers/family_offer.h"
#include "gpu_worker/backends/cpu/offers/worth_dividing.h"
#include "gpu_worker/backends/groups/format_rows.h"
#include "gpu_worker/backends/groups/node_checks.h"

namespace plait {
namespace {

bool RunsInstanceNorm(const Graph& graph, NodeId node) {
  if (!IsOneOf(graph, node, {OpKind::kInstanceNormalization, OpKind::kGroupNormalization})) {
    return false;
  }
  // Groups whose scale is not by channel are written otherwise at import.
  return AllFloat32(graph, node) &&
         graph.input_type(node, 1).shape == Shape{graph.input_type(node, 0).shape[1]};
}

}  // namespace

const FamilyOffer kInstanceNormOffer = {
    .name = "instance_norm",
    .runs = RunsInstanceNorm,
    .formats = PlainRow,
    .worth_dividing = HasManyElements,
};

}  // namespace plait
