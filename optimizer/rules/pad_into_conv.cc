#include <algorithm>

#include "optimizer/rules/patterns/conv_view.h"
#include "optimizer/rules/rule.h"

namespace plait {
namespace {

std::optional<Rewrite> Match(const Graph& graph, NodeId node) {
  auto conv = ViewConv(graph, node);
  const NodeId pad = SoleProducerOf(graph, node, 0, OpKind::kPad);
  if (!conv || pad == kNoNode) return std::nullopt;
  if (graph.node(pad).attributes->String("mode", "constant") != "constant") return std::nullopt;
  if (InputOr(graph, pad, 2) != kNoTensor && ScalarAt(graph, pad, 2) != 0.0) return std::nullopt;
  if (InputOr(graph, pad, 3) != kNoTensor) return std::nullopt;  // a list of axes
  const auto pads = IntsAt(graph, pad, 1);  // begin of N, C, H, W, then end of N, C, H, W
  if (!pads || pads->size() != 8) return std::nullopt;
  if ((*pads)[0] != 0 || (*pads)[1] != 0 || (*pads)[4] != 0 || (*pads)[5] != 0) return std::nullopt;
  if (std::any_of(pads->begin(), pads->end(), [](int64_t p) { return p < 0; })) return std::nullopt;
  conv->pads[0] += (*pads)[2];
  conv->pads[1] += (*pads)[3];
  conv->pads[2] += (*pads)[6];
  conv->pads[3] += (*pads)[7];
  RewriteBuilder builder(graph);
  std::vector<TensorId> inputs = {graph.node(pad).inputs[0], conv->w};
  if (conv->b != kNoTensor) inputs.push_back(conv->b);
  builder.Rewire(graph.node(node).outputs[0],
                 builder.Add(OpKind::kConv, conv->ToAttributes(), inputs));
  builder.Remove(pad);
  builder.Remove(node);
  return builder.Finish();
}

}  // namespace

extern const Rule kPadIntoConv = {
    .name = "pad_into_conv",
    .law = "Conv(Pad(x, p, 0), pads q) = Conv(x, pads p + q)",
    .root = OpKind::kConv,
    .match = Match,
    .always_wins = true,
};

}  // namespace plait
