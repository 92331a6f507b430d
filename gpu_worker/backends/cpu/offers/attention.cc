#include <algorithm>

#include "gpu_worker/backends/cpu/offers/format_rows.h"
#include "gpu_worker/backends/cpu/offers/node_checks.h"
#include "gpu_worker/backends/cpu/offers/worth_dividing.h"

namespace plait {
namespace {

// Without what changes the scores between the two products. A mask's rows are whole rows of scores.
// What is refused here, causal masks and softcap among it, runs as reference code.
bool Runs(const Graph& graph, NodeId id) {
  if (!IsOneOf(graph, id, {OpKind::kAttention})) return false;
  const Node& node = graph.node(id);
  const Attributes& attributes = *node.attributes;
  if (!AllFloat32(graph, id) || attributes.Int("is_causal", 0) != 0 ||
      attributes.Float("softcap", 0) != 0) {
    return false;
  }
  const auto omitted = [](TensorId tensor) { return tensor == kNoTensor; };
  const size_t inputs_max = std::min<size_t>(node.inputs.size(), 4);
  if (!std::all_of(node.inputs.begin() + inputs_max, node.inputs.end(), omitted)) return false;
  if (!HasOneOutput(node)) return false;
  if (node.inputs.size() < 4 || node.inputs[3] == kNoTensor) return true;
  const TensorType& key = graph.type(node.inputs[1]);
  const TensorType& mask = graph.type(node.inputs[3]);
  return mask.rank() > 0 && mask.rank() <= 4 && mask.shape.back() == key.shape[key.rank() - 2];
}

}  // namespace

const FamilyOffer kAttentionOffer = {
    .name = "attention",
    .runs = Runs,
    .formats = PlainRow,
    .worth_dividing = HasManyFlops,
};

}  // namespace plait
