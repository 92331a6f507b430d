#include <algorithm>

#include "gpu_worker/backends/cpu/offers/family_offer.h"
#include "gpu_worker/backends/cpu/offers/worth_dividing.h"
#include "gpu_worker/backends/groups/format_rows.h"
#include "gpu_worker/backends/groups/node_checks.h"

namespace plait {
namespace {

// A Slice's bounds are read when it loads; the parts of a Split are in its results' shapes, which
// parts that are omitted have not.
bool RunsSlice(const Graph& graph, NodeId node) {
  if (!IsOneOf(graph, node, {OpKind::kSlice, OpKind::kSplit}) || !IsMovable(graph, node)) {
    return false;
  }
  const Node& n = graph.node(node);
  if (n.op == OpKind::kSlice) return HasInlineInputs(graph, n, 1);
  return std::find(n.outputs.begin(), n.outputs.end(), kNoTensor) == n.outputs.end();
}

}  // namespace

// Every output is a strided copy, so that any format does in which all tensors lie alike.
const FamilyOffer kSliceOffer = {
    .name = "slice",
    .runs = RunsSlice,
    .formats = SpatialRows,
    .reads_parts = true,
    .writes_parts = true,
    .worth_dividing = HasManyElements,
};

}  // namespace plait
