#include "optimizer/rules/patterns/graph_queries.h"
#include "optimizer/rules/patterns/rewrite_builder.h"
#include "optimizer/rules/rule.h"

namespace plait {
namespace {

std::optional<Rewrite> Match(const Graph& graph, NodeId node) {
  const auto side = OneConstantInput(graph, node);
  if (!side) return std::nullopt;
  const NodeId gemm = SoleProducerOf(graph, node, side->other, OpKind::kGemm);
  if (gemm == kNoNode || !(graph.output_type(gemm) == graph.output_type(node))) return std::nullopt;
  const TensorId addend = graph.node(node).inputs[side->constant];
  const TensorId bias = InputOr(graph, gemm, 2);
  RewriteBuilder builder(graph);
  std::vector<TensorId> inputs = {graph.node(gemm).inputs[0], graph.node(gemm).inputs[1], addend};
  if (bias != kNoTensor) {
    // beta scales the old bias only.
    if (graph.node(gemm).attributes->Float("beta", 1.0f) != 1.0f) return std::nullopt;
    inputs[2] = builder.AddConstant(
        builder.Fold(OpKind::kAdd, {}, {builder.ConstantOf(bias), builder.ConstantOf(addend)}));
  }
  Attributes attributes = *graph.node(gemm).attributes;
  attributes.Erase("beta");
  builder.Rewire(graph.node(node).outputs[0], builder.Add(OpKind::kGemm, attributes, inputs));
  builder.Remove(gemm);
  builder.Remove(node);
  return builder.Finish();
}

}  // namespace

extern const Rule kBiasAfterGemm = {
    .name = "bias_after_gemm",
    .law = "Gemm(x, w, b) + c = Gemm(x, w, b + c), c constant",
    .root = OpKind::kAdd,
    .match = Match,
    .always_wins = true,
};

}  // namespace plait
