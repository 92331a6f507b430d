#include "optimizer/rules/patterns/graph_queries.h"
#include "optimizer/rules/patterns/rewrite_builder.h"
#include "optimizer/rules/patterns/row_normalization.h"
#include "optimizer/rules/rule.h"

namespace plait {
namespace {

struct NormalizationFromMean {
  TensorId x;
  float epsilon;
};

// Reads (x - mean) / sqrt(mean((x - mean)^2) + epsilon) backwards from its division.
std::optional<NormalizationFromMean> ReadNormalizationFromMean(const Graph& graph, NodeId div) {
  const NodeId deviation = ProducerOf(graph, div, 0, OpKind::kSub);
  const NodeId root = SoleProducerOf(graph, div, 1, OpKind::kSqrt);
  if (deviation == kNoNode || root == kNoNode) return std::nullopt;
  const NodeId sum = SoleProducerOf(graph, root, 0, OpKind::kAdd);
  if (sum == kNoNode) return std::nullopt;
  const auto side = OneConstantInput(graph, sum);
  if (!side) return std::nullopt;
  const auto epsilon = ScalarAt(graph, sum, side->constant);
  const NodeId variance = SoleProducerOf(graph, sum, side->other, OpKind::kReduceMean);
  if (!epsilon || variance == kNoNode || !IsRowMean(graph, variance)) return std::nullopt;
  const TensorId centered = graph.node(deviation).outputs[0];
  const NodeId square = graph.tensor(graph.node(variance).inputs[0]).producer;
  if (square == kNoNode || !IsSquareOf(graph, square, centered)) return std::nullopt;
  const NodeId mean = ProducerOf(graph, deviation, 1, OpKind::kReduceMean);
  const TensorId x = graph.node(deviation).inputs[0];
  if (mean == kNoNode || graph.node(mean).inputs[0] != x || !IsRowMean(graph, mean)) {
    return std::nullopt;
  }
  return NormalizationFromMean{x, static_cast<float>(*epsilon)};
}

Rewrites MatchLayerNormalizationFromMean(const Rule&, const Graph& graph, NodeId node) {
  const auto normalization = ReadNormalizationFromMean(graph, node);
  const TensorType& type = graph.output_type(node);
  if (!normalization || type.dtype != DataType::kFloat32) return {};
  const int64_t columns = type.shape.back();
  NodeId last = node;
  RewriteBuilder builder(graph);
  TensorId scale = kNoTensor;
  TensorId bias = kNoTensor;
  if (const auto scaled = RowApplied(graph, graph.node(last).outputs[0], OpKind::kMul, columns)) {
    scale = builder.Reshape(scaled->row, {columns});
    last = scaled->node;
    if (const auto shifted =
            RowApplied(graph, graph.node(last).outputs[0], OpKind::kAdd, columns)) {
      bias = builder.Reshape(shifted->row, {columns});
      last = shifted->node;
    }
  } else {
    // The operator wants a scale; ones change nothing.
    scale = builder.Repeat(builder.AddConstant(Tensor::Of<float>({1}, {1.0f})), columns);
  }
  const Attributes attributes{{"axis", int64_t{-1}}, {"epsilon", normalization->epsilon}};
  return builder.Replace(
      last, builder.Add(OpKind::kLayerNormalization, attributes, {normalization->x, scale, bias}));
}

}  // namespace

const Rule kLayerNormalizationFromMean = {
    .name = "layer_normalization_from_mean",
    .law =
        "(x - mean(x)) / sqrt(mean((x - mean(x))^2) + e) * s + b = LayerNormalization(x, s, b, e)",
    // Two passes over x in the place of nine. Over the last axis only, where rows lie together in
    // memory; s and b are constant rows, and a b without an s stays an addition.
    .root = OpKind::kDiv,
    .match = MatchLayerNormalizationFromMean,
    .always_wins = true,
};

}  // namespace plait
