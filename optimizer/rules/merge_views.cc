#include "optimizer/ops/shared/op_spec.h"
#include "optimizer/rules/patterns/rewrite_builder.h"
#include "optimizer/rules/rule.h"

namespace plait {
namespace {

Rewrites MatchMergeViews(const Rule&, const Graph& graph, NodeId node) {
  const TensorId input = graph.node(node).inputs[0];
  const NodeId producer = graph.tensor(input).producer;
  if (producer == kNoNode || !HasTraits(graph.node(producer).op, kView)) return {};
  if (graph.node(producer).outputs[0] != input) return {};
  const TensorId x = graph.node(producer).inputs[0];
  RewriteBuilder builder(graph);
  const TensorId shape = builder.AddConstant(Tensor::Int64s(graph.output_type(node).shape));
  // allowzero: a zero in the shape is a dimension of zero, not a copy of the input's.
  const Attributes attributes{{"allowzero", int64_t{1}}};
  return builder.Replace(node, builder.Add(OpKind::kReshape, attributes, {x, shape}));
}

}  // namespace

const Rule kMergeViews = {
    .name = "merge_views",
    .law = "Reshape(Reshape(x)) = Reshape(x), likewise Flatten, Squeeze, Unsqueeze below it",
    // A view keeps the elements and their order, so only the last shape counts.
    .root = OpKind::kReshape,
    .match = MatchMergeViews,
    .always_wins = true,
};

}  // namespace plait
