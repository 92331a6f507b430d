#include "optimizer/rules/patterns/unary_and_concat.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "optimizer/ops/shared/op_spec.h"
#include "optimizer/rules/patterns/graph_queries.h"
#include "optimizer/rules/patterns/reasons.h"
#include "optimizer/rules/patterns/rewrite_builder.h"

namespace plait {
namespace {

// Applies the operator of `like` to another tensor; further inputs (bounds, a slope) are the same.
TensorId ApplyLike(RewriteBuilder* builder, const Node& like, TensorId x) {
  std::vector<TensorId> inputs(like.inputs.begin(), like.inputs.end());
  inputs[0] = x;
  return builder->Add(like.op, *like.attributes, inputs);
}

bool ApplyOneFunction(const Node& a, const Node& b) {
  return *a.attributes == *b.attributes && a.inputs.size() == b.inputs.size() &&
         std::equal(a.inputs.begin() + 1, a.inputs.end(), b.inputs.begin() + 1);
}

}  // namespace

Rewrites JoinBeforeUnary(const Graph& graph, NodeId concat, Misses misses) {
  const Node& node = graph.node(concat);
  const NodeId first = graph.producer(concat, 0);
  if (first == kNoNode || !HasTraits(graph.node(first).op, kElementwiseUnary)) return {};
  const OpKind op = graph.node(first).op;
  for (size_t i = 1; i < node.inputs.size(); ++i) {
    if (ProducerOf(graph, concat, static_cast<int>(i), op) == kNoNode) return {};
  }
  std::vector<TensorId> inputs;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const NodeId unary = SoleProducerOf(graph, concat, static_cast<int>(i), op, misses);
    if (unary == kNoNode) return {};
    if (!ApplyOneFunction(graph.node(first), graph.node(unary))) {
      return misses.Because(
          [&] { return absl::StrCat(NodeText(graph, unary), " has other attributes or inputs"); });
    }
    inputs.push_back(graph.node(unary).inputs[0]);
  }
  RewriteBuilder builder(graph);
  const TensorId joined = builder.Add(OpKind::kConcat, *node.attributes, inputs);
  return builder.Replace(concat, ApplyLike(&builder, graph.node(first), joined));
}

Rewrites ApplyBeforeConcat(const Graph& graph, NodeId concat) {
  const Node& node = graph.node(concat);
  if (!graph.has_single_use(node.outputs[0])) return {};
  const NodeId reader = graph.users(node.outputs[0])[0];
  const Node& unary = graph.node(reader);
  if (!HasTraits(unary.op, kElementwiseUnary) || unary.inputs[0] != node.outputs[0]) return {};
  RewriteBuilder builder(graph);
  std::vector<TensorId> inputs;
  for (const TensorId input : node.inputs) inputs.push_back(ApplyLike(&builder, unary, input));
  return builder.Replace(reader, builder.Add(OpKind::kConcat, *node.attributes, inputs));
}

}  // namespace plait
