#include "optimizer/rules/patterns/conv_view.h"
#include "optimizer/rules/patterns/zero_pad.h"
#include "optimizer/rules/rule.h"

namespace plait {
namespace {

Rewrites MatchPadIntoConv(const Rule& rule, const Graph& graph, NodeId node) {
  auto conv = ViewConv(graph, node);
  const auto taken = TakePad(graph, node, rule.misses);
  if (!conv || !taken) return {};
  conv->pads = taken->pads;
  RewriteBuilder builder(graph);
  return builder.Replace(
      node, builder.Add(OpKind::kConv, conv->ToAttributes(), {taken->x, conv->w, conv->b}));
}

}  // namespace

const Rule kPadIntoConv = {
    .name = "pad_into_conv",
    .law = "Conv(Pad(x, p, 0), pads q) = Conv(x, pads p + q)",
    // A convolution pads with zeros while it reads, without a copy of x. Height and width only, and
    // no negative pads, which crop. A Pad that something else needs would be copied all the same.
    .root = OpKind::kConv,
    .match = MatchPadIntoConv,
    .always_wins = true,
};

}  // namespace plait
