#include "optimizer/rules/patterns/graph_queries.h"
#include "optimizer/rules/patterns/rewrite_builder.h"
#include "optimizer/rules/rule.h"

namespace plait {
namespace {

// What stands in front of the softmax: q k^T, scaled by a constant, plus a mask.
struct Scores {
  NodeId product = kNoNode;
  double scale = 1;
  TensorId mask = kNoTensor;
  std::vector<NodeId> nodes;  // all of the above
};

std::optional<Scores> ReadScores(const Graph& graph, NodeId softmax) {
  Scores scores;
  NodeId node = softmax;
  int index = 0;
  if (const NodeId add = SoleProducerOf(graph, node, 0, OpKind::kAdd); add != kNoNode) {
    // The side that leads to the product carries a scale or is the product itself.
    const auto is_score = [&](int i) {
      return SoleProducerOf(graph, add, i, OpKind::kMatMul) != kNoNode ||
             SoleProducerOf(graph, add, i, OpKind::kMul) != kNoNode ||
             SoleProducerOf(graph, add, i, OpKind::kDiv) != kNoNode;
    };
    index = is_score(0) ? 0 : 1;
    scores.mask = graph.node(add).inputs[1 - index];
    node = add;
    scores.nodes.push_back(add);
  }
  for (OpKind op : {OpKind::kMul, OpKind::kDiv}) {
    const NodeId scale = SoleProducerOf(graph, node, index, op);
    if (scale == kNoNode) continue;
    const auto side = OneConstantInput(graph, scale);
    if (!side || (op == OpKind::kDiv && side->constant != 1)) return std::nullopt;
    const auto value = ScalarAt(graph, scale, side->constant);
    if (!value || *value <= 0) return std::nullopt;
    scores.scale = op == OpKind::kMul ? *value : 1 / *value;
    node = scale;
    scores.nodes.push_back(scale);
    index = side->other;
    break;
  }
  scores.product = SoleProducerOf(graph, node, index, OpKind::kMatMul);
  if (scores.product == kNoNode) return std::nullopt;
  scores.nodes.push_back(scores.product);
  return scores;
}

bool Is4dFloat(const TensorType& type) {
  return type.rank() == 4 && type.dtype == DataType::kFloat32;
}

std::optional<Rewrite> Match(const Graph& graph, NodeId softmax) {
  const int64_t axis = graph.node(softmax).attributes->Int("axis", -1);
  if (axis != -1 && axis != 3) return std::nullopt;
  const NodeId mix = SoleUser(graph, graph.node(softmax).outputs[0], OpKind::kMatMul);
  if (mix == kNoNode || graph.node(mix).inputs[0] != graph.node(softmax).outputs[0]) {
    return std::nullopt;
  }
  const auto scores = ReadScores(graph, softmax);
  if (!scores) return std::nullopt;
  const TensorId query = graph.node(scores->product).inputs[0];
  const NodeId transpose = ProducerOf(graph, scores->product, 1, OpKind::kTranspose);
  const TensorId value = graph.node(mix).inputs[1];
  if (transpose == kNoNode || !Is4dFloat(graph.type(query)) || !Is4dFloat(graph.type(value))) {
    return std::nullopt;
  }
  // The key as [batch, heads, keys, size]: undo the exchange of the last two axes.
  auto perm = graph.node(transpose).attributes->Ints("perm");
  if (perm.size() != 4) return std::nullopt;
  std::swap(perm[2], perm[3]);
  RewriteBuilder builder(graph);
  TensorId key = graph.node(transpose).inputs[0];
  if (perm != std::vector<int64_t>{0, 1, 2, 3}) {
    key = builder.Add(OpKind::kTranspose, {{"perm", perm}}, {key});
  }
  // Attention wants equal batch and head counts; MatMul would have broadcast them.
  for (TensorId other : {key, value}) {
    if (builder.type(other).shape[0] != graph.type(query).shape[0] ||
        builder.type(other).shape[1] != graph.type(query).shape[1]) {
      return std::nullopt;
    }
  }
  std::vector<TensorId> inputs = {query, key, value};
  if (scores->mask != kNoTensor) {
    if (graph.type(scores->mask).dtype != DataType::kFloat32) return std::nullopt;
    inputs.push_back(scores->mask);
  }
  const Attributes attributes{{"scale", static_cast<float>(scores->scale)}};
  builder.Rewire(graph.node(mix).outputs[0], builder.Add(OpKind::kAttention, attributes, inputs));
  builder.Remove(softmax);
  builder.Remove(mix);
  for (NodeId node : scores->nodes) builder.Remove(node);
  return builder.Finish();
}

}  // namespace

extern const Rule kAttentionFromSoftmax = {
    .name = "attention_from_softmax",
    .law = "MatMul(Softmax(MatMul(q, k^T) * s + m), v) = Attention(q, k, v, m, s)",
    .root = OpKind::kSoftmax,
    .match = Match,
};

}  // namespace plait
