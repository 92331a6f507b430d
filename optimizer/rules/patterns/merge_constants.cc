#include "optimizer/rules/patterns/merge_constants.h"

#include <algorithm>

#include "optimizer/rules/patterns/graph_queries.h"
#include "optimizer/rules/patterns/rewrite_builder.h"

namespace plait {

Rewrites MergeConstants(const Graph& graph, NodeId node) {
  const OpKind op = graph.node(node).op;
  const auto outer = OneConstantInput(graph, node);
  if (!outer) return {};
  const NodeId first = SoleProducerOf(graph, node, outer->other, op);
  const auto inner = first == kNoNode ? std::nullopt : OneConstantInput(graph, first);
  if (!inner) return {};
  const TensorId a = graph.node(first).inputs[inner->constant];
  const TensorId b = graph.node(node).inputs[outer->constant];
  RewriteBuilder builder(graph);
  const TensorId both = builder.Fold(op, {a, b});
  if (both == kNoTensor) return {};
  if (builder.type(both).elements() >
      std::max(graph.type(a).elements(), graph.type(b).elements())) {
    return {};
  }
  return builder.Replace(node, builder.Add(op, {}, {graph.node(first).inputs[inner->other], both}));
}

}  // namespace plait
