#include "optimizer/rules/patterns/graph_queries.h"
#include "optimizer/rules/patterns/rewrite_builder.h"
#include "optimizer/rules/patterns/row_normalization.h"
#include "optimizer/rules/rule.h"

namespace plait {
namespace {

struct RmsFromMean {
  NodeId last;  // x / root, or x * (1 / root)
  TensorId x;
  float epsilon;
};

// The node that multiplies `x` by 1 / root, or divides it by the root; kNoNode: neither does.
NodeId DividedByRoot(const Graph& graph, TensorId root, TensorId x) {
  NodeId inverse = SoleUser(graph, root, OpKind::kReciprocal);
  if (inverse == kNoNode) {
    const NodeId division = SoleUser(graph, root, OpKind::kDiv);
    if (division == kNoNode || graph.node(division).inputs[1] != root) return kNoNode;
    if (graph.node(division).inputs[0] == x) return division;
    if (ScalarAt(graph, division, 0) != 1) return kNoNode;
    inverse = division;
  }
  const TensorId factor = graph.node(inverse).outputs[0];
  const NodeId product = SoleUser(graph, factor, OpKind::kMul);
  if (product == kNoNode) return kNoNode;
  const auto& inputs = graph.node(product).inputs;
  return inputs[0] == x || inputs[1] == x ? product : kNoNode;
}

// Rows less their means: a LayerNormalization, which is for another rule to find.
bool IsCentered(const Graph& graph, TensorId x) {
  const NodeId deviation = graph.tensor(x).producer;
  if (deviation == kNoNode || graph.node(deviation).op != OpKind::kSub) return false;
  const NodeId mean = ProducerOf(graph, deviation, 1, OpKind::kReduceMean);
  return mean != kNoNode && graph.node(mean).inputs[0] == graph.node(deviation).inputs[0];
}

// Reads sqrt(mean(x^2) + epsilon) backwards from its root, and what follows it forwards.
std::optional<RmsFromMean> ReadRmsFromMean(const Graph& graph, NodeId root) {
  const NodeId sum = SoleProducerOf(graph, root, 0, OpKind::kAdd);
  if (sum == kNoNode) return std::nullopt;
  const auto side = OneConstantInput(graph, sum);
  if (!side) return std::nullopt;
  const auto epsilon = ScalarAt(graph, sum, side->constant);
  const NodeId mean = SoleProducerOf(graph, sum, side->other, OpKind::kReduceMean);
  if (!epsilon || mean == kNoNode || !IsRowMean(graph, mean)) return std::nullopt;
  const NodeId square = graph.tensor(graph.node(mean).inputs[0]).producer;
  if (square == kNoNode) return std::nullopt;
  const TensorId x = graph.node(square).inputs[0];
  if (!IsSquareOf(graph, square, x) || IsCentered(graph, x)) return std::nullopt;
  const NodeId last = DividedByRoot(graph, graph.node(root).outputs[0], x);
  if (last == kNoNode) return std::nullopt;
  return RmsFromMean{last, x, static_cast<float>(*epsilon)};
}

Rewrites MatchRmsNormalizationFromMean(const Rule&, const Graph& graph, NodeId root) {
  const auto normalization = ReadRmsFromMean(graph, root);
  if (!normalization) return {};
  NodeId last = normalization->last;
  const TensorType& type = graph.output_type(last);
  if (type.dtype != DataType::kFloat32 || type != graph.type(normalization->x)) return {};
  const int64_t columns = type.shape.back();
  RewriteBuilder builder(graph);
  TensorId scale = kNoTensor;
  if (const auto scaled = RowApplied(graph, graph.node(last).outputs[0], OpKind::kMul, columns)) {
    scale = builder.Reshape(scaled->row, {columns});
    last = scaled->node;
  } else {
    // The operator wants a scale; ones change nothing.
    scale = builder.Repeat(builder.AddConstant(Tensor::Of<float>({1}, {1.0f})), columns);
  }
  const Attributes attributes{{"axis", int64_t{-1}}, {"epsilon", normalization->epsilon}};
  return builder.Replace(
      last, builder.Add(OpKind::kRMSNormalization, attributes, {normalization->x, scale}));
}

}  // namespace

const Rule kRmsNormalizationFromMean = {
    .name = "rms_normalization_from_mean",
    .law = "x / sqrt(mean(x^2) + e) * s = RMSNormalization(x, s, e)",
    // One kernel in the place of six, as language models are exported. Over the last axis only,
    // where rows lie together in memory; s is a constant row.
    .root = OpKind::kSqrt,
    .match = MatchRmsNormalizationFromMean,
    .always_wins = true,
};

}  // namespace plait
