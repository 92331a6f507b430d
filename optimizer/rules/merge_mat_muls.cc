#include "optimizer/rules/patterns/graph_queries.h"
#include "optimizer/rules/patterns/merge_siblings.h"
#include "optimizer/rules/rule.h"

namespace plait {
namespace {

// x times a constant matrix, and the constant row that is added to the product, if any.
struct Projection {
  NodeId product = kNoNode;
  NodeId add = kNoNode;
  TensorId w = kNoTensor;
  TensorId row = kNoTensor;
  TensorId result = kNoTensor;
};

std::optional<Projection> ReadProjection(const Graph& graph, NodeId node) {
  if (graph.node(node).op != OpKind::kMatMul || graph.constant(node, 1) == nullptr) {
    return std::nullopt;
  }
  if (graph.input_type(node, 1).rank() != 2 || graph.input_type(node, 0).rank() < 2) {
    return std::nullopt;
  }
  Projection projection;
  projection.product = node;
  projection.w = graph.node(node).inputs[1];
  projection.result = graph.node(node).outputs[0];
  const int64_t columns = graph.type(projection.w).shape[1];
  const NodeId add = SoleUser(graph, projection.result, OpKind::kAdd);
  if (add == kNoNode) return projection;
  const auto side = OneConstantInput(graph, add);
  if (!side) return projection;
  const TensorType& row = graph.input_type(add, side->constant);
  if (row.rank() == 1 && row.shape[0] == columns) {
    projection.add = add;
    projection.row = graph.node(add).inputs[side->constant];
    projection.result = graph.node(add).outputs[0];
  }
  return projection;
}

std::optional<Rewrite> Match(const Graph& graph, NodeId node) {
  const auto first = ReadProjection(graph, node);
  if (!first) return std::nullopt;
  const TensorId x = graph.node(node).inputs[0];
  for (NodeId sibling : graph.users(x)) {
    if (sibling <= node || graph.node(sibling).inputs[0] != x) continue;
    const auto second = ReadProjection(graph, sibling);
    if (!second || (first->add == kNoNode) != (second->add == kNoNode)) continue;
    RewriteBuilder builder(graph);
    const TensorId w = builder.AddConstant(
        builder.Fold(OpKind::kConcat, {{"axis", int64_t{1}}},
                     {builder.ConstantOf(first->w), builder.ConstantOf(second->w)}));
    TensorId merged = builder.Add(OpKind::kMatMul, {}, {x, w});
    for (const Projection* projection : {&*first, &*second}) builder.Remove(projection->product);
    if (first->add != kNoNode) {
      const TensorId row = builder.AddConstant(
          builder.Fold(OpKind::kConcat, {{"axis", int64_t{0}}},
                       {builder.ConstantOf(first->row), builder.ConstantOf(second->row)}));
      merged = builder.Add(OpKind::kAdd, {}, {merged, row});
      for (const Projection* projection : {&*first, &*second}) builder.Remove(projection->add);
    }
    ReplaceBySplit(graph, &builder, merged, graph.output_type(node).rank() - 1, first->result,
                   second->result);
    return builder.Finish();
  }
  return std::nullopt;
}

}  // namespace

extern const Rule kMergeMatMuls = {
    .name = "merge_mat_muls",
    .law = "MatMul(x, w) + b, MatMul(x, v) + c = Split(MatMul(x, Concat(w, v)) + Concat(b, c))",
    .root = OpKind::kMatMul,
    .match = Match,
};

}  // namespace plait
