#include "absl/strings/str_cat.h"
#include "optimizer/ops/shared/axes.h"
#include "optimizer/rules/patterns/conv_view.h"
#include "optimizer/rules/patterns/reasons.h"
#include "optimizer/rules/rule.h"

namespace plait {
namespace {

// Equal but for what they read, their weights and biases.
bool AreAlike(const Graph& graph, const ConvView& a, const ConvView& b) {
  return graph.type(a.x) == graph.type(b.x) && graph.type(a.w) == graph.type(b.w) &&
         a.strides == b.strides && a.dilations == b.dilations && a.pads == b.pads &&
         a.group == b.group;
}

Rewrites MatchGroupConvs(const Rule& rule, const Graph& graph, NodeId node) {
  const Node& concat = graph.node(node);
  const int64_t rank = graph.output_type(node).rank();
  if (rank != 4 || NormalAxis(concat.attributes->Int("axis", 0), rank) != 1) return {};
  for (size_t i = 0; i < concat.inputs.size(); ++i) {
    if (ProducerOf(graph, node, static_cast<int>(i), OpKind::kConv) == kNoNode) return {};
  }
  std::vector<ConvView> convs;
  bool have_biases = false;
  bool read_one = true;
  for (size_t i = 0; i < concat.inputs.size(); ++i) {
    const NodeId conv =
        SoleProducerOf(graph, node, static_cast<int>(i), OpKind::kConv, rule.misses);
    const auto view = conv == kNoNode ? std::nullopt : ViewConv(graph, conv, rule.misses);
    if (!view) return {};
    if (i > 0 && !AreAlike(graph, convs[0], *view)) {
      return rule.misses.Because([&] {
        return absl::StrCat(NodeText(graph, conv),
                            " differs from the one before in shape, strides, ",
                            "dilations, pads or groups");
      });
    }
    convs.push_back(*view);
    have_biases = have_biases || view->b != kNoTensor;
    read_one = read_one && view->x == convs[0].x;
  }
  if (read_one) return rule.misses.Because("all read one input, which merge_convs is for");
  RewriteBuilder builder(graph);
  std::vector<TensorId> inputs;
  std::vector<TensorId> weights;
  std::vector<TensorId> biases;
  for (const ConvView& conv : convs) {
    inputs.push_back(conv.x);
    weights.push_back(conv.w);
    if (have_biases) biases.push_back(BiasOrZeros(&builder, conv));
  }
  ConvView grouped = convs[0];
  grouped.group *= static_cast<int64_t>(convs.size());
  const Attributes by_filter{{"axis", int64_t{0}}};
  const TensorId x = builder.Add(OpKind::kConcat, {{"axis", int64_t{1}}}, inputs);
  const TensorId w = builder.Fold(OpKind::kConcat, weights, by_filter);
  const TensorId b = have_biases ? builder.Fold(OpKind::kConcat, biases, by_filter) : kNoTensor;
  return builder.Replace(node, builder.Add(OpKind::kConv, grouped.ToAttributes(), {x, w, b}));
}

}  // namespace

const Rule kGroupConvs = {
    .name = "group_convs",
    .law = "Concat(Conv(x, w), Conv(y, v)) = Conv(Concat(x, y), Concat(w, v), two groups)",
    // Branches that are spelled out one by one, each of which is too small to fill the device. What
    // was joined behind them is joined in front, which is no copy where a Split made the inputs.
    .root = OpKind::kConcat,
    .match = MatchGroupConvs,
};

}  // namespace plait
