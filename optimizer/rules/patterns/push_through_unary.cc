#include "optimizer/rules/patterns/push_through_unary.h"

#include "absl/algorithm/container.h"
#include "optimizer/ops/shared/op_spec.h"
#include "optimizer/rules/patterns/reasons.h"
#include "optimizer/rules/patterns/rewrite_builder.h"

namespace plait {

Rewrites PushThroughUnary(const Graph& graph, NodeId node, Misses misses) {
  const Node& mover = graph.node(node);
  const TensorId moved = mover.outputs[0];
  const auto is_unary = [&](NodeId reader) {
    return HasTraits(graph.node(reader).op, kElementwiseUnary) &&
           graph.node(reader).inputs[0] == moved;
  };
  if (!graph.has_single_use(moved)) {
    if (absl::c_none_of(graph.users(moved), is_unary)) return {};
    return misses.Because([&] { return ReadersText(graph, moved); });
  }
  const NodeId reader = graph.users(moved)[0];
  const Node& unary = graph.node(reader);
  if (!is_unary(reader)) return {};
  RewriteBuilder builder(graph);
  // Further inputs (bounds, a shape) stay where they are.
  std::vector<TensorId> unary_inputs(unary.inputs.begin(), unary.inputs.end());
  unary_inputs[0] = mover.inputs[0];
  std::vector<TensorId> mover_inputs(mover.inputs.begin(), mover.inputs.end());
  mover_inputs[0] = builder.Add(unary.op, *unary.attributes, unary_inputs);
  return builder.Replace(reader, builder.Add(mover.op, *mover.attributes, mover_inputs));
}

}  // namespace plait
