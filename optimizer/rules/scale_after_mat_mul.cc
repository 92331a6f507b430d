#include "optimizer/rules/patterns/graph_queries.h"
#include "optimizer/rules/patterns/rewrite_builder.h"
#include "optimizer/rules/rule.h"

namespace plait {
namespace {

std::optional<Rewrite> Match(const Graph& graph, NodeId node) {
  const auto side = OneConstantInput(graph, node);
  if (!side) return std::nullopt;
  const NodeId product = SoleProducerOf(graph, node, side->other, OpKind::kMatMul);
  if (product == kNoNode || graph.constant(product, 1) == nullptr) return std::nullopt;
  const TensorType& weight = graph.input_type(product, 1);
  const int rank = graph.output_type(product).rank();
  if (weight.rank() != 2 || weight.dtype != DataType::kFloat32 || rank < 2) return std::nullopt;
  if (!IsPerChannel(graph.input_type(node, side->constant), rank, rank - 1, weight.shape[1])) {
    return std::nullopt;
  }
  RewriteBuilder builder(graph);
  const ConstantRef scale = builder.ConstantOf(graph.node(node).inputs[side->constant]);
  const ConstantRef row = builder.FoldReshape(scale, {1, scale->type().elements()});
  const TensorId w = builder.AddConstant(
      builder.Fold(OpKind::kMul, {}, {builder.ConstantOf(graph.node(product).inputs[1]), row}));
  builder.Rewire(graph.node(node).outputs[0],
                 builder.Add(OpKind::kMatMul, {}, {graph.node(product).inputs[0], w}));
  builder.Remove(product);
  builder.Remove(node);
  return builder.Finish();
}

}  // namespace

extern const Rule kScaleAfterMatMul = {
    .name = "scale_after_mat_mul",
    .law = "MatMul(x, w) * c = MatMul(x, w * c), c per column of a constant matrix w",
    .root = OpKind::kMul,
    .match = Match,
    .always_wins = true,
};

}  // namespace plait
