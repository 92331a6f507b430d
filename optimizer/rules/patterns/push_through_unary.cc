#include "optimizer/rules/patterns/push_through_unary.h"

#include "optimizer/ops/shared/op_spec.h"
#include "optimizer/rules/patterns/rewrite_builder.h"

namespace plait {

Rewrites PushThroughUnary(const Graph& graph, NodeId node) {
  const Node& mover = graph.node(node);
  if (!graph.has_single_use(mover.outputs[0])) return {};
  const NodeId reader = graph.users(mover.outputs[0])[0];
  const Node& unary = graph.node(reader);
  if (!HasTraits(unary.op, kElementwiseUnary) || unary.inputs[0] != mover.outputs[0]) return {};
  RewriteBuilder builder(graph);
  // Further inputs (bounds, a shape) stay where they are.
  std::vector<TensorId> unary_inputs(unary.inputs.begin(), unary.inputs.end());
  unary_inputs[0] = mover.inputs[0];
  std::vector<TensorId> mover_inputs(mover.inputs.begin(), mover.inputs.end());
  mover_inputs[0] = builder.Add(unary.op, *unary.attributes, unary_inputs);
  return builder.Replace(reader, builder.Add(mover.op, *mover.attributes, mover_inputs));
}

}  // namespace plait
