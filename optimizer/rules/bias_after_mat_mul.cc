#include "optimizer/rules/patterns/graph_queries.h"
#include "optimizer/rules/patterns/rewrite_builder.h"
#include "optimizer/rules/rule.h"

namespace plait {
namespace {

std::optional<Rewrite> Match(const Graph& graph, NodeId node) {
  const auto side = OneConstantInput(graph, node);
  if (!side) return std::nullopt;
  const NodeId product = SoleProducerOf(graph, node, side->other, OpKind::kMatMul);
  if (product == kNoNode || !IsFloat(graph.output_type(product).dtype)) return std::nullopt;
  // Gemm is defined for matrices only.
  if (graph.input_type(product, 0).rank() != 2 || graph.input_type(product, 1).rank() != 2) {
    return std::nullopt;
  }
  if (!(graph.output_type(product) == graph.output_type(node))) return std::nullopt;
  const TensorId bias = graph.node(node).inputs[side->constant];
  RewriteBuilder builder(graph);
  builder.Rewire(graph.node(node).outputs[0],
                 builder.Add(OpKind::kGemm, {},
                             {graph.node(product).inputs[0], graph.node(product).inputs[1], bias}));
  builder.Remove(product);
  builder.Remove(node);
  return builder.Finish();
}

}  // namespace

extern const Rule kBiasAfterMatMul = {
    .name = "bias_after_mat_mul",
    .law = "MatMul(x, w) + c = Gemm(x, w, c), x and w matrices",
    .root = OpKind::kAdd,
    .match = Match,
    .always_wins = true,
};

}  // namespace plait
