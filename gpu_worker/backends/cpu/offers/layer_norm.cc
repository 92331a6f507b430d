#include "gpu_worker/backends/cpu/offers/family_offer.h"
#include "gpu_worker/backends/cpu/offers/worth_dividing.h"
#include "gpu_worker/backends/groups/format_rows.h"
#include "gpu_worker/backends/groups/node_checks.h"
#include "gpu_worker/backends/groups/row_operand.h"
#include "optimizer/ops/shared/axes.h"

namespace plait {
namespace {

// Scale and bias have one element for each of a row's, so that rows need no broadcasting. The mean
// and the deviation as further outputs are not computed: inference seldom reads them.
bool RunsLayerNorm(const Graph& graph, NodeId id) {
  if (!IsOneOf(graph, id, {OpKind::kLayerNormalization, OpKind::kRMSNormalization})) {
    return false;
  }
  const Node& node = graph.node(id);
  if (!HasOneOutput(node) || !AllFloat32(graph, id)) return false;
  const TensorType& type = graph.input_type(id, 0);
  const int64_t axis = NormalAxis(node.attributes->Int("axis", -1), type.rank());
  for (size_t i = 1; i < node.inputs.size(); ++i) {
    if (node.inputs[i] != kNoTensor && !IsRowOf(type, axis, graph.type(node.inputs[i]))) {
      return false;
    }
  }
  return true;
}

}  // namespace

const FamilyOffer kLayerNormOffer = {
    .name = "layer_norm",
    .runs = RunsLayerNorm,
    .formats = PlainRow,
    .worth_dividing = HasManyElements,
};

}  // namespace plait
