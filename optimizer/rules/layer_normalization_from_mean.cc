#include "optimizer/rules/patterns/graph_queries.h"
#include "optimizer/rules/patterns/rewrite_builder.h"
#include "optimizer/rules/rule.h"

namespace plait {
namespace {

// True when the node averages over the last axis and keeps it.
bool IsRowMean(const Graph& graph, NodeId node) {
  const auto axes = IntsAt(graph, node, 1);
  const int rank = graph.input_type(node, 0).rank();
  return axes && axes->size() == 1 && ((*axes)[0] == -1 || (*axes)[0] == rank - 1) &&
         graph.node(node).attributes->Int("keepdims", 1) == 1;
}

// True when the node squares `tensor`: Pow(t, 2) or t * t.
bool IsSquareOf(const Graph& graph, NodeId node, TensorId tensor) {
  const Node& square = graph.node(node);
  if (square.op == OpKind::kPow) return square.inputs[0] == tensor && ScalarAt(graph, node, 1) == 2;
  return square.op == OpKind::kMul && square.inputs[0] == tensor && square.inputs[1] == tensor;
}

struct Normalization {
  TensorId x;
  float epsilon;
};

// Reads (x - mean) / sqrt(mean((x - mean)^2) + epsilon) backwards from its division.
std::optional<Normalization> ReadNormalization(const Graph& graph, NodeId div) {
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
  return Normalization{x, static_cast<float>(*epsilon)};
}

// The constant row [columns] that a sole following `op` applies to `tensor`, and its node.
std::optional<std::pair<NodeId, TensorId>> RowApplied(const Graph& graph, TensorId tensor,
                                                      OpKind op, int64_t columns) {
  const NodeId user = SoleUser(graph, tensor, op);
  if (user == kNoNode) return std::nullopt;
  const auto side = OneConstantInput(graph, user);
  if (!side) return std::nullopt;
  const TensorId row = graph.node(user).inputs[side->constant];
  const TensorType& type = graph.type(row);
  if (type.rank() == 0 || type.shape.back() != columns || type.elements() != columns ||
      !(graph.output_type(user) == graph.type(tensor))) {
    return std::nullopt;
  }
  return std::make_pair(user, row);
}

std::optional<Rewrite> Match(const Graph& graph, NodeId node) {
  const auto normalization = ReadNormalization(graph, node);
  const TensorType& type = graph.output_type(node);
  if (!normalization || type.dtype != DataType::kFloat32) return std::nullopt;
  const int64_t columns = type.shape.back();
  TensorId result = graph.node(node).outputs[0];
  RewriteBuilder builder(graph);
  builder.Remove(node);
  ConstantRef scale;
  TensorId bias = kNoTensor;
  if (const auto scaled = RowApplied(graph, result, OpKind::kMul, columns)) {
    scale = builder.FoldReshape(builder.ConstantOf(scaled->second), {columns});
    result = graph.node(scaled->first).outputs[0];
    builder.Remove(scaled->first);
    if (const auto shifted = RowApplied(graph, result, OpKind::kAdd, columns)) {
      bias =
          builder.AddConstant(builder.FoldReshape(builder.ConstantOf(shifted->second), {columns}));
      result = graph.node(shifted->first).outputs[0];
      builder.Remove(shifted->first);
    }
  } else {
    const float one = 1;
    scale = builder.Fold(OpKind::kExpand, {},
                         {Constant::OfTensor(Tensor::Of<float>({1}, absl::MakeConstSpan(&one, 1))),
                          Constant::OfTensor(Tensor::Int64s({columns}))});
  }
  std::vector<TensorId> inputs = {normalization->x, builder.AddConstant(scale)};
  if (bias != kNoTensor) inputs.push_back(bias);
  const Attributes attributes{{"axis", int64_t{-1}}, {"epsilon", normalization->epsilon}};
  builder.Rewire(result, builder.Add(OpKind::kLayerNormalization, attributes, inputs));
  return builder.Finish();
}

}  // namespace

extern const Rule kLayerNormalizationFromMean = {
    .name = "layer_normalization_from_mean",
    .law =
        "(x - mean(x)) / sqrt(mean((x - mean(x))^2) + e) * s + b = LayerNormalization(x, s, b, e)",
    .root = OpKind::kDiv,
    .match = Match,
    .always_wins = true,
};

}  // namespace plait
