#include <algorithm>

#include "optimizer/rules/patterns/conv_view.h"
#include "optimizer/rules/rule.h"

namespace plait {
namespace {

Rewrites Match(const Rule&, const Graph& graph, NodeId node) {
  auto conv = ViewConv(graph, node);
  const NodeId pad = SoleProducerOf(graph, node, 0, OpKind::kPad);
  if (!conv || pad == kNoNode) return {};
  if (graph.node(pad).attributes->String("mode", "constant") != "constant") return {};
  if (InputOr(graph, pad, 2) != kNoTensor && ScalarAt(graph, pad, 2) != 0.0) return {};
  if (InputOr(graph, pad, 3) != kNoTensor) return {};  // a list of axes
  const auto pads = IntsAt(graph, pad, 1);  // begin of N, C, H, W, then end of N, C, H, W
  if (!pads || pads->size() != 8) return {};
  if ((*pads)[0] != 0 || (*pads)[1] != 0 || (*pads)[4] != 0 || (*pads)[5] != 0) return {};
  if (std::any_of(pads->begin(), pads->end(), [](int64_t p) { return p < 0; })) return {};
  conv->pads[0] += (*pads)[2];
  conv->pads[1] += (*pads)[3];
  conv->pads[2] += (*pads)[6];
  conv->pads[3] += (*pads)[7];
  RewriteBuilder builder(graph);
  return builder.Replace(node, builder.Add(OpKind::kConv, conv->ToAttributes(),
                                           {graph.node(pad).inputs[0], conv->w, conv->b}));
}

}  // namespace

const Rule kPadIntoConv = {
    .name = "pad_into_conv",
    .law = "Conv(Pad(x, p, 0), pads q) = Conv(x, pads p + q)",
    // A convolution pads with zeros while it reads, without a copy of x. Height and width only, and
    // no negative pads, which crop.
    .root = OpKind::kConv,
    .match = Match,
    .always_wins = true,
};

}  // namespace plait
