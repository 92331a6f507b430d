#include <cmath>

#include "optimizer/rules/patterns/gelu_pattern.h"
#include "optimizer/rules/patterns/rewrite_builder.h"
#include "optimizer/rules/rule.h"

namespace plait {
namespace {

std::optional<Rewrite> Match(const Graph& graph, NodeId node) {
  const auto x = ScaledBy(graph, graph.node(node).inputs[0], std::sqrt(0.5));
  if (!x) return std::nullopt;
  const auto product = FindHalfProduct(graph, graph.node(node).outputs[0], *x);
  if (!product) return std::nullopt;
  RewriteBuilder builder(graph);
  builder.Rewire(product->result,
                 builder.Add(OpKind::kGelu, {{"approximate", std::string("none")}}, {*x}));
  builder.Remove(node);
  for (NodeId removed : product->nodes) builder.Remove(removed);
  return builder.Finish();
}

}  // namespace

extern const Rule kGeluFromErf = {
    .name = "gelu_from_erf",
    .law = "0.5 * x * (1 + Erf(x / sqrt(2))) = Gelu(x)",
    .root = OpKind::kErf,
    .match = Match,
    .always_wins = true,
};

}  // namespace plait
