#include "gpu_worker/backends/cpu/offers/family_offer.h"
#include "gpu_worker/backends/cpu/offers/worth_dividing.h"
#include "gpu_worker/backends/groups/format_rows.h"
#include "gpu_worker/backends/groups/node_checks.h"

namespace plait {
namespace {

// Elements are copied whatever they hold; the diagonal may be a number of the run.
bool RunsTrilu(const Graph& graph, NodeId node) {
  if (!IsOneOf(graph, node, {OpKind::kTrilu}) || !IsMovable(graph, node)) return false;
  const Node& n = graph.node(node);
  if (n.inputs.size() < 2 || n.inputs[1] == kNoTensor) return true;
  const DataType diagonal = graph.type(n.inputs[1]).dtype;
  return diagonal == DataType::kInt64 || diagonal == DataType::kInt32;
}

}  // namespace

const FamilyOffer kTriluOffer = {
    .name = "trilu",
    .runs = RunsTrilu,
    .formats = PlainRow,
    .worth_dividing = HasManyElements,
};

}  // namespace plait
