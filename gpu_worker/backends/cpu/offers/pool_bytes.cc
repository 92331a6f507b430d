#include "gpu_worker/backends/cpu/offers/family_offer.h"
#include "gpu_worker/backends/cpu/offers/integer_bounds.h"
#include "gpu_worker/backends/cpu/offers/worth_dividing.h"
#include "gpu_worker/backends/groups/format_rows.h"
#include "gpu_worker/backends/groups/integer_checks.h"
#include "gpu_worker/backends/groups/node_checks.h"

namespace plait {
namespace {

// Whether the integers come back as they were: QuantizeLinear takes back what DequantizeLinear did,
// as far as no product leaves the normal floats.
bool IsInverse(const Graph& graph, NodeId quantize, NodeId dequantize) {
  const Node& to = graph.node(quantize);
  const Node& from = graph.node(dequantize);
  if (!HasKnownQuantization(graph, to) || !HasKnownQuantization(graph, from)) return false;
  if (graph.output_type(quantize).dtype != graph.input_type(dequantize, 0).dtype) return false;
  const Quantization by = QuantizationOf(graph, to);
  const Quantization of = QuantizationOf(graph, from);
  return by.scale == of.scale && by.zero_point == of.zero_point && by.scale > 1e-30f &&
         by.scale < 1e30f;
}

// A MaxPool of a quantized model, of images: what dequantizes its input, itself, and what quantizes
// its result again.
std::vector<std::vector<NodeId>> GrowPoolBytes(const Graph& graph, NodeId id) {
  if (graph.node(id).op != OpKind::kDequantizeLinear) return {};
  const NodeId pool = OnlyReader(graph, id);
  if (pool == kNoNode || graph.node(pool).op != OpKind::kMaxPool) return {};
  const Node& node = graph.node(pool);
  if (!HasOneReadOutput(graph, node) || !HasExplicitPadding(node)) return {};
  if (!IsSpatial(graph, pool) || graph.input_type(pool, 0).elements() == 0) return {};
  const NodeId quantize = OnlyReader(graph, pool);
  if (quantize == kNoNode || graph.node(quantize).op != OpKind::kQuantizeLinear) return {};
  if (graph.node(quantize).inputs[0] != node.outputs[0]) return {};
  if (!IsInverse(graph, quantize, id)) return {};
  return {{id, pool, quantize}};
}

}  // namespace

const FamilyOffer kPoolBytesOffer = {
    .name = "pool_bytes",
    .grow = GrowPoolBytes,
    // Vectors are channels of a pixel, which lie beside each other in channels-last only.
    .formats = ChannelsLastRow,
    .worth_dividing = HasManyElements,
};

}  // namespace plait
