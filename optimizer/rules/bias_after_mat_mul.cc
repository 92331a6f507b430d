#include "absl/strings/str_cat.h"
#include "optimizer/rules/patterns/graph_queries.h"
#include "optimizer/rules/patterns/reasons.h"
#include "optimizer/rules/patterns/rewrite_builder.h"
#include "optimizer/rules/rule.h"

namespace plait {
namespace {

Rewrites MatchBiasAfterMatMul(const Rule& rule, const Graph& graph, NodeId node) {
  const auto side = OneConstantInput(graph, node);
  if (!side) return NoConstantBeside(graph, node, OpKind::kMatMul, rule.misses);
  const NodeId product = SoleProducerOf(graph, node, side->other, OpKind::kMatMul, rule.misses);
  if (product == kNoNode) return {};
  const auto miss = [&](NodeId at, absl::string_view what) {
    return rule.misses.Because([&] { return absl::StrCat(NodeText(graph, at), what); });
  };
  if (!IsFloat(graph.output_type(product).dtype)) return miss(product, " is of integers");
  if (graph.input_type(product, 0).rank() != 2 || graph.input_type(product, 1).rank() != 2) {
    return miss(product, " is no product of two matrices");
  }
  if (graph.output_type(product) != graph.output_type(node)) {
    return miss(node, " broadcasts the product");
  }
  const TensorId bias = graph.node(node).inputs[side->constant];
  const auto& factors = graph.node(product).inputs;
  RewriteBuilder builder(graph);
  return builder.Replace(node, builder.Add(OpKind::kGemm, {}, {factors[0], factors[1], bias}));
}

}  // namespace

const Rule kBiasAfterMatMul = {
    .name = "bias_after_mat_mul",
    .law = "MatMul(x, w) + c = Gemm(x, w, c), x and w matrices",
    // One kernel in the place of two. Gemm is defined for matrices of floats only.
    .root = OpKind::kAdd,
    .match = MatchBiasAfterMatMul,
    .always_wins = true,
};

}  // namespace plait
