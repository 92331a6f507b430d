#include "optimizer/rules/patterns/sum_of_convs_pattern.h"
#include "optimizer/rules/rule.h"

namespace plait {
namespace {

std::optional<Rewrite> Match(const Graph& graph, NodeId node) {
  const auto pair = ReadSumOfConvs(graph, node);
  if (!pair || pair->first.x != pair->second.x) return std::nullopt;
  RewriteBuilder builder(graph);
  const TensorId w = builder.AddConstant(builder.Fold(
      OpKind::kAdd, {}, {builder.ConstantOf(pair->first.w), builder.ConstantOf(pair->second.w)}));
  std::vector<TensorId> inputs = {pair->first.x, w};
  if (ConstantRef bias = SumOfBiases(&builder, *pair)) inputs.push_back(builder.AddConstant(bias));
  builder.Rewire(graph.node(node).outputs[0],
                 builder.Add(OpKind::kConv, pair->first.ToAttributes(), inputs));
  builder.Remove(pair->first_node);
  builder.Remove(pair->second_node);
  builder.Remove(node);
  return builder.Finish();
}

}  // namespace

extern const Rule kSumOfConvsSameInput = {
    .name = "sum_of_convs_same_input",
    .law = "Conv(x, w, b) + Conv(x, v, c) = Conv(x, w + v, b + c)",
    .root = OpKind::kAdd,
    .match = Match,
    .always_wins = true,
};

}  // namespace plait
