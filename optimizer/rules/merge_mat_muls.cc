#include "optimizer/rules/patterns/graph_queries.h"
#include "optimizer/rules/patterns/merge_siblings.h"
#include "optimizer/rules/rule.h"

namespace plait {
namespace {

// x times a constant matrix, and the constant row that is added to the product, if any.
struct Projection {
  TensorId w = kNoTensor;
  TensorId row = kNoTensor;     // kNoTensor: nothing is added
  TensorId result = kNoTensor;  // with the row
};

std::optional<Projection> ReadProjection(const Graph& graph, NodeId node) {
  if (graph.node(node).op != OpKind::kMatMul || graph.constant(node, 1) == nullptr) {
    return std::nullopt;
  }
  if (graph.input_type(node, 1).rank() != 2 || graph.input_type(node, 0).rank() < 2) {
    return std::nullopt;
  }
  Projection projection;
  projection.w = graph.node(node).inputs[1];
  projection.result = graph.node(node).outputs[0];
  const int64_t columns = graph.type(projection.w).shape[1];
  const NodeId add = SoleUser(graph, projection.result, OpKind::kAdd);
  if (add == kNoNode) return projection;
  const auto side = OneConstantInput(graph, add);
  if (!side) return projection;
  const TensorType& row = graph.input_type(add, side->constant);
  if (row.rank() == 1 && row.shape[0] == columns) {
    projection.row = graph.node(add).inputs[side->constant];
    projection.result = graph.node(add).outputs[0];
  }
  return projection;
}

Rewrites Merge(const Graph& graph, TensorId x, absl::Span<const Projection> projections) {
  RewriteBuilder builder(graph);
  std::vector<TensorId> weights;
  std::vector<TensorId> rows;
  std::vector<TensorId> results;
  for (const Projection& projection : projections) {
    weights.push_back(projection.w);
    rows.push_back(projection.row);
    results.push_back(projection.result);
  }
  const TensorId w = builder.Fold(OpKind::kConcat, weights, {{"axis", int64_t{1}}});
  TensorId merged = builder.Add(OpKind::kMatMul, {}, {x, w});
  if (rows[0] != kNoTensor) {
    const TensorId row = builder.Fold(OpKind::kConcat, rows, {{"axis", int64_t{0}}});
    merged = builder.Add(OpKind::kAdd, {}, {merged, row});
  }
  return ReplaceBySplit(graph, &builder, merged, graph.type(results[0]).rank() - 1, results);
}

Rewrites Match(const Rule&, const Graph& graph, NodeId node) {
  const auto first = ReadProjection(graph, node);
  if (!first) return {};
  const TensorId x = graph.node(node).inputs[0];
  std::vector<Projection> projections = {*first};
  for (NodeId sibling : graph.users(x)) {
    if (sibling <= node || graph.node(sibling).inputs[0] != x) continue;
    const auto other = ReadProjection(graph, sibling);
    if (!other || (first->row == kNoTensor) != (other->row == kNoTensor)) continue;
    projections.push_back(*other);
  }
  return MergeSets(projections,
                   [&](absl::Span<const Projection> set) { return Merge(graph, x, set); });
}

}  // namespace

const Rule kMergeMatMuls = {
    .name = "merge_mat_muls",
    .law = "MatMul(x, w) + b, MatMul(x, v) + c = Split(MatMul(x, Concat(w, v)) + Concat(b, c))",
    // The projections of an attention: x is read once, and one wide product fills the device better
    // than narrow ones. The rows go along, since the split would part them from the product.
    .root = OpKind::kMatMul,
    .match = Match,
};

}  // namespace plait
