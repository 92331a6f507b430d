#include "optimizer/rules/patterns/sum_of_convs_pattern.h"
#include "optimizer/rules/rule.h"

namespace plait {
namespace {

std::optional<Rewrite> Match(const Graph& graph, NodeId node) {
  const auto pair = ReadSumOfConvs(graph, node);
  if (!pair || pair->first.x == pair->second.x) return std::nullopt;
  const Shape& a = graph.type(pair->first.x).shape;
  const Shape& b = graph.type(pair->second.x).shape;
  // Equal steps and outputs leave room for inputs that differ by what the stride skips.
  if (a[0] != b[0] || a[2] != b[2] || a[3] != b[3]) return std::nullopt;
  RewriteBuilder builder(graph);
  const Attributes along_channels{{"axis", int64_t{1}}};
  const TensorId x = builder.Add(OpKind::kConcat, along_channels, {pair->first.x, pair->second.x});
  const TensorId w = builder.AddConstant(
      builder.Fold(OpKind::kConcat, along_channels,
                   {builder.ConstantOf(pair->first.w), builder.ConstantOf(pair->second.w)}));
  std::vector<TensorId> inputs = {x, w};
  if (ConstantRef bias = SumOfBiases(&builder, *pair)) inputs.push_back(builder.AddConstant(bias));
  builder.Rewire(graph.node(node).outputs[0],
                 builder.Add(OpKind::kConv, pair->first.ToAttributes(), inputs));
  builder.Remove(pair->first_node);
  builder.Remove(pair->second_node);
  builder.Remove(node);
  return builder.Finish();
}

}  // namespace

extern const Rule kSumOfConvs = {
    .name = "sum_of_convs",
    .law = "Conv(x, w, b) + Conv(y, v, c) = Conv(Concat(x, y), Concat(w, v), b + c)",
    .root = OpKind::kAdd,
    .match = Match,
};

}  // namespace plait
