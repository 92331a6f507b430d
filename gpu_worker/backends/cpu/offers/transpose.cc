#include "gpu_worker/backends/cpu/offers/format_rows.h"
#include "gpu_worker/backends/cpu/offers/node_checks.h"
#include "gpu_worker/backends/cpu/offers/worth_dividing.h"

namespace plait {
namespace {

bool Runs(const Graph& graph, NodeId node) {
  return IsOneOf(graph, node, {OpKind::kTranspose}) && IsMovable(graph, node);
}

}  // namespace

// Row-major on both sides: in channels-last a transpose would be another one, or a view.
const FamilyOffer kTransposeOffer = {
    .name = "transpose",
    .runs = Runs,
    .formats = PlainRow,
    .worth_dividing = HasManyElements,
};

}  // namespace plait
