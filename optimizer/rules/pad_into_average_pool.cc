#include <utility>

#include "optimizer/rules/patterns/rewrite_builder.h"
#include "optimizer/rules/patterns/zero_pad.h"
#include "optimizer/rules/rule.h"

namespace plait {
namespace {

Rewrites MatchPadIntoAveragePool(const Rule& rule, const Graph& graph, NodeId node) {
  const auto taken = TakePad(graph, node, rule.misses);
  if (!taken) return {};
  Attributes attributes = *graph.node(node).attributes;
  attributes.Set("pads", taken->pads);
  attributes.Set("count_include_pad", int64_t{1});
  RewriteBuilder builder(graph);
  return builder.Replace(node,
                         builder.Add(OpKind::kAveragePool, std::move(attributes), {taken->x}));
}

}  // namespace

const Rule kPadIntoAveragePool = {
    .name = "pad_into_average_pool",
    .law = "AveragePool(Pad(x, p, 0), pads q) = AveragePool(x, pads p + q, count_include_pad)",
    // Padding of its own must be none or counted too. A maximum knows no zeros: it pads with what
    // is less than all.
    .root = OpKind::kAveragePool,
    .match = MatchPadIntoAveragePool,
    .always_wins = true,
};

}  // namespace plait
