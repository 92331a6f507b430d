#include "optimizer/ops/shared/op_spec.h"
#include "optimizer/rules/patterns/rewrite_builder.h"
#include "optimizer/rules/rule.h"

namespace plait {
namespace {

std::optional<Rewrite> Match(const Graph& graph, NodeId node) {
  const TensorId input = graph.node(node).inputs[0];
  const NodeId producer = graph.tensor(input).producer;
  if (producer == kNoNode || !HasTraits(graph.node(producer).op, kView)) return std::nullopt;
  if (graph.node(producer).outputs[0] != input) return std::nullopt;
  RewriteBuilder builder(graph);
  const TensorType& type = graph.output_type(node);
  const TensorId shape = builder.AddConstant(Tensor::Int64s(type.shape));
  // allowzero: a zero in the shape is a dimension of zero, not a copy of the input's.
  const TensorId merged = builder.Add(OpKind::kReshape, {{"allowzero", int64_t{1}}},
                                      {graph.node(producer).inputs[0], shape});
  builder.Rewire(graph.node(node).outputs[0], merged);
  builder.Remove(node);
  return builder.Finish();
}

}  // namespace

extern const Rule kMergeViews = {
    .name = "merge_views",
    .law = "Reshape(Reshape(x)) = Reshape(x), likewise Flatten, Squeeze, Unsqueeze below it",
    .root = OpKind::kReshape,
    .match = Match,
    .always_wins = true,
};

}  // namespace plait
