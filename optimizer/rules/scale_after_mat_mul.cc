#include "absl/strings/str_cat.h"
#include "optimizer/rules/patterns/graph_queries.h"
#include "optimizer/rules/patterns/reasons.h"
#include "optimizer/rules/patterns/rewrite_builder.h"
#include "optimizer/rules/rule.h"

namespace plait {
namespace {

Rewrites MatchScaleAfterMatMul(const Rule& rule, const Graph& graph, NodeId node) {
  const auto side = OneConstantInput(graph, node);
  if (!side) return NoConstantBeside(graph, node, OpKind::kMatMul, rule.misses);
  const NodeId product = SoleProducerOf(graph, node, side->other, OpKind::kMatMul, rule.misses);
  if (product == kNoNode) return {};
  const auto miss = [&](absl::string_view what) {
    return rule.misses.Because([&] { return absl::StrCat(NodeText(graph, product), what); });
  };
  if (graph.constant(product, 1) == nullptr) return miss(" has no constant weights");
  const TensorType& weight = graph.input_type(product, 1);
  const int rank = graph.output_type(product).rank();
  if (weight.rank() != 2 || weight.dtype != DataType::kFloat32 || rank < 2) {
    return miss(" has weights that are no matrix in float32");
  }
  const TensorId scale = graph.node(node).inputs[side->constant];
  if (!IsPerChannel(graph.type(scale), rank, rank - 1, weight.shape[1])) {
    return NotPerChannel(graph, scale, weight.shape[1], rule.misses);
  }
  const auto& factors = graph.node(product).inputs;
  RewriteBuilder builder(graph);
  const TensorId row = builder.Reshape(scale, {1, graph.type(scale).elements()});
  const TensorId w = builder.Fold(OpKind::kMul, {factors[1], row});
  return builder.Replace(node, builder.Add(OpKind::kMatMul, {}, {factors[0], w}));
}

}  // namespace

const Rule kScaleAfterMatMul = {
    .name = "scale_after_mat_mul",
    .law = "MatMul(x, w) * c = MatMul(x, w * c), c per column of a constant matrix w",
    // The product with c moves into the weights, which are computed once.
    .root = OpKind::kMul,
    .match = MatchScaleAfterMatMul,
    .always_wins = true,
};

}  // namespace plait
