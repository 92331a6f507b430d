#include "optimizer/ops/shared/rotary.h"

#include "gpu_worker/backends/cpu/offers/family_offer.h"
#include "gpu_worker/backends/cpu/offers/worth_dividing.h"
#include "gpu_worker/backends/groups/format_rows.h"
#include "gpu_worker/backends/groups/node_checks.h"

namespace plait {
namespace {

bool RunsRotary(const Graph& graph, NodeId id) {
  if (!IsOneOf(graph, id, {OpKind::kRotaryEmbedding})) return false;
  const Node& node = graph.node(id);
  for (size_t i = 0; i < 3; ++i) {
    const TensorType& type = graph.input_type(id, static_cast<int>(i));
    if (type.dtype != DataType::kFloat32 || type.elements() == 0) return false;
  }
  if (node.inputs.size() <= kRotaryPositions || node.inputs[kRotaryPositions] == kNoTensor) {
    return true;
  }
  const DataType positions = graph.type(node.inputs[kRotaryPositions]).dtype;
  return positions == DataType::kInt64 || positions == DataType::kInt32;
}

}  // namespace

const FamilyOffer kRotaryOffer = {
    .name = "rotary",
    .runs = RunsRotary,
    .formats = PlainRow,
    .worth_dividing = HasManyElements,
};

}  // namespace plait
