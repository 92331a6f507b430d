#include <cmath>

#include "optimizer/rules/patterns/gelu_pattern.h"
#include "optimizer/rules/patterns/rewrite_builder.h"
#include "optimizer/rules/rule.h"

namespace plait {
namespace {

Rewrites MatchGeluFromErf(const Rule&, const Graph& graph, NodeId node) {
  const auto x = ScaledBy(graph, graph.node(node).inputs[0], std::sqrt(0.5));
  if (!x) return {};
  const NodeId last = FindHalfProduct(graph, graph.node(node).outputs[0], *x);
  if (last == kNoNode) return {};
  RewriteBuilder builder(graph);
  const Attributes exact{{"approximate", std::string("none")}};
  return builder.Replace(last, builder.Add(OpKind::kGelu, exact, {*x}));
}

}  // namespace

const Rule kGeluFromErf = {
    .name = "gelu_from_erf",
    .law = "0.5 * x * (1 + Erf(x / sqrt(2))) = Gelu(x)",
    // Five passes over memory become one. Factors may differ by the roundings of an exporter.
    .root = OpKind::kErf,
    .match = MatchGeluFromErf,
    .always_wins = true,
};

}  // namespace plait
