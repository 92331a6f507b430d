#include "absl/strings/str_cat.h"
#include "optimizer/rules/patterns/graph_queries.h"
#include "optimizer/rules/patterns/reasons.h"
#include "optimizer/rules/patterns/rewrite_builder.h"
#include "optimizer/rules/rule.h"

namespace plait {
namespace {

Rewrites MatchBiasAfterGemm(const Rule& rule, const Graph& graph, NodeId node) {
  const auto side = OneConstantInput(graph, node);
  if (!side) return NoConstantBeside(graph, node, OpKind::kGemm, rule.misses);
  const NodeId gemm = SoleProducerOf(graph, node, side->other, OpKind::kGemm, rule.misses);
  if (gemm == kNoNode) return {};
  const auto miss = [&](NodeId at, absl::string_view what) {
    return rule.misses.Because([&] { return absl::StrCat(NodeText(graph, at), what); });
  };
  if (graph.output_type(gemm) != graph.output_type(node)) {
    return miss(node, " broadcasts the product");
  }
  const TensorId bias = InputOr(graph, gemm, 2);
  TensorId sum = graph.node(node).inputs[side->constant];
  RewriteBuilder builder(graph);
  if (bias != kNoTensor) {
    // beta scales the old bias only.
    if (graph.node(gemm).attributes->Float("beta", 1.0f) != 1.0f) {
      return miss(gemm, " scales its bias by beta");
    }
    if (graph.constant(gemm, 2) == nullptr) return miss(gemm, " has a bias that is not constant");
    sum = builder.FoldPair(OpKind::kAdd, bias, sum);
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
    .match = MatchBiasAfterGemm,
    .always_wins = true,
};

}  // namespace plait
