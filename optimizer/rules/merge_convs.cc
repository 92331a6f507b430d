#include "optimizer/rules/patterns/conv_view.h"
#include "optimizer/rules/patterns/merge_siblings.h"
#include "optimizer/rules/rule.h"

namespace plait {
namespace {

bool Mergeable(const ConvView& a, const ConvView& b) {
  return SameSteps(a, b) && a.group == 1 && a.pads == b.pads &&
         a.kernel_height == b.kernel_height && a.kernel_width == b.kernel_width;
}

std::optional<Rewrite> Match(const Graph& graph, NodeId node) {
  const auto conv = ViewConv(graph, node);
  if (!conv) return std::nullopt;
  for (NodeId sibling : graph.users(conv->x)) {
    if (sibling <= node) continue;
    const auto other = ViewConv(graph, sibling);
    if (!other || !Mergeable(*conv, *other)) continue;
    RewriteBuilder builder(graph);
    const Attributes along_filters{{"axis", int64_t{0}}};
    const TensorId w = builder.AddConstant(
        builder.Fold(OpKind::kConcat, along_filters,
                     {builder.ConstantOf(conv->w), builder.ConstantOf(other->w)}));
    std::vector<TensorId> inputs = {conv->x, w};
    if (conv->b != kNoTensor || other->b != kNoTensor) {
      inputs.push_back(builder.AddConstant(
          builder.Fold(OpKind::kConcat, along_filters,
                       {BiasOrZeros(&builder, *conv), BiasOrZeros(&builder, *other)})));
    }
    const TensorId merged = builder.Add(OpKind::kConv, conv->ToAttributes(), inputs);
    builder.Remove(node);
    builder.Remove(sibling);
    ReplaceBySplit(graph, &builder, merged, 1, graph.node(node).outputs[0],
                   graph.node(sibling).outputs[0]);
    return builder.Finish();
  }
  return std::nullopt;
}

}  // namespace

extern const Rule kMergeConvs = {
    .name = "merge_convs",
    .law = "Conv(x, w), Conv(x, v) = Split(Conv(x, Concat(w, v)))",
    .root = OpKind::kConv,
    .match = Match,
};

}  // namespace plait
