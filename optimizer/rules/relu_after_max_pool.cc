#include "absl/strings/str_cat.h"
#include "optimizer/rules/patterns/graph_queries.h"
#include "optimizer/rules/patterns/pool_view.h"
#include "optimizer/rules/patterns/reasons.h"
#include "optimizer/rules/patterns/rewrite_builder.h"
#include "optimizer/rules/rule.h"

namespace plait {
namespace {

Rewrites MatchReluAfterMaxPool(const Rule& rule, const Graph& graph, NodeId node) {
  const NodeId relu = SoleProducerOf(graph, node, 0, OpKind::kRelu, rule.misses);
  if (relu == kNoNode) return {};
  const auto miss = [&](NodeId at, absl::string_view what) {
    return rule.misses.Because([&] { return absl::StrCat(NodeText(graph, at), what); });
  };
  if (!TakesLargest(graph, node)) return miss(node, " also says where the largest elements are");
  const NodeId conv = ProducerOf(graph, relu, 0, OpKind::kConv);
  if (conv != kNoNode) return miss(conv, " applies the Relu to what it writes");
  RewriteBuilder builder(graph);
  const TensorId pooled =
      builder.Add(OpKind::kMaxPool, *graph.node(node).attributes, {graph.node(relu).inputs[0]});
  return builder.Replace(node, builder.Add(OpKind::kRelu, {}, {pooled}));
}

}  // namespace

const Rule kReluAfterMaxPool = {
    .name = "relu_after_max_pool",
    .law = "MaxPool(Relu(x)) = Relu(MaxPool(x))",
    // Relu keeps the order, so the largest element stays the largest. Behind a pool with strides
    // there are fewer elements. A convolution applies Relu to what it writes for nothing, though.
    .root = OpKind::kMaxPool,
    .match = MatchReluAfterMaxPool,
};

}  // namespace plait
