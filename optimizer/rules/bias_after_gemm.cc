#include "optimizer/rules/patterns/graph_queries.h"
#include "optimizer/rules/patterns/rewrite_builder.h"
#include "optimizer/rules/rule.h"

namespace plait {
namespace {

Rewrites Match(const Rule&, const Graph& graph, NodeId node) {
  const auto side = OneConstantInput(graph, node);
  if (!side) return {};
  const NodeId gemm = SoleProducerOf(graph, node, side->other, OpKind::kGemm);
  if (gemm == kNoNode || graph.output_type(gemm) != graph.output_type(node)) return {};
  const TensorId bias = InputOr(graph, gemm, 2);
  TensorId sum = graph.node(node).inputs[side->constant];
  RewriteBuilder builder(graph);
  if (bias != kNoTensor) {
    // beta scales the old bias only.
    if (graph.node(gemm).attributes->Float("beta", 1.0f) != 1.0f) return {};
    sum = builder.Fold(OpKind::kAdd, {bias, sum});
  }
  Attributes attributes = *graph.node(gemm).attributes;
  attributes.Erase("beta");
  const auto& inputs = graph.node(gemm).inputs;
  return builder.Replace(node, builder.Add(OpKind::kGemm, attributes, {inputs[0], inputs[1], sum}));
}

}  // namespace

const Rule kBiasAfterGemm = {
    .name = "bias_after_gemm",
    .law = "Gemm(x, w, b) + c = Gemm(x, w, b + c), c constant",
    // Gemm adds its bias where it writes its result anyway. A bias that is no constant stays, and
    // so does a sum that broadcasts the product.
    .root = OpKind::kAdd,
    .match = Match,
    .always_wins = true,
};

}  // namespace plait
