#include "gpu_worker/backends/cpu/offers/family_offer.h"
#include "gpu_worker/backends/cpu/offers/worth_dividing.h"
#include "gpu_worker/backends/groups/format_rows.h"
#include "gpu_worker/backends/groups/node_checks.h"

namespace plait {
namespace {

// Elements are copied whatever they hold; only the lengths have to be understood.
bool RunsReverseSequence(const Graph& graph, NodeId node) {
  if (!IsOneOf(graph, node, {OpKind::kReverseSequence})) return false;
  const DataType lengths = graph.input_type(node, 1).dtype;
  return IsMovable(graph, node) && (lengths == DataType::kInt64 || lengths == DataType::kInt32);
}

}  // namespace

const FamilyOffer kReverseSequenceOffer = {
    .name = "reverse_sequence",
    .runs = RunsReverseSequence,
    .formats = PlainRow,
    .worth_dividing = HasManyElements,
};

}  // namespace plait
