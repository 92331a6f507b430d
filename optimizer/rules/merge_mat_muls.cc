#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "optimizer/rules/patterns/graph_queries.h"
#include "optimizer/rules/patterns/merge_siblings.h"
#include "optimizer/rules/patterns/reasons.h"
#include "optimizer/rules/rule.h"

namespace plait {
namespace {

// x times a constant matrix, and the constant row that is added to the product, if any.
struct Projection {
  TensorId w = kNoTensor;
  TensorId row = kNoTensor;     // kNoTensor: nothing is added
  TensorId result = kNoTensor;  // with the row
};

// REQUIRES: `node` is a MatMul.
std::optional<Projection> ReadProjection(const Graph& graph, NodeId node, Misses misses) {
  const auto miss = [&](absl::string_view what) {
    return misses.Because([&] { return absl::StrCat(NodeText(graph, node), what); });
  };
  if (graph.constant(node, 1) == nullptr) return miss(" has no constant weights");
  if (graph.input_type(node, 1).rank() != 2 || graph.input_type(node, 0).rank() < 2) {
    return miss(" has weights that are no matrix");
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

Rewrites MergeMatMuls(const Graph& graph, TensorId x, absl::Span<const Projection> projections) {
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

Rewrites MatchMergeMatMuls(const Rule& rule, const Graph& graph, NodeId node) {
  const TensorId x = graph.node(node).inputs[0];
  const auto is_sibling = [&](NodeId user) {
    return user > node && graph.node(user).op == OpKind::kMatMul && graph.node(user).inputs[0] == x;
  };
  if (absl::c_none_of(graph.users(x), is_sibling)) return {};
  const auto first = ReadProjection(graph, node, rule.misses);
  if (!first) return {};
  std::vector<Projection> projections = {*first};
  for (NodeId sibling : graph.users(x)) {
    if (!is_sibling(sibling)) continue;
    const auto other = ReadProjection(graph, sibling, rule.misses);
    if (!other) continue;
    if ((first->row == kNoTensor) != (other->row == kNoTensor)) {
      rule.misses.Because([&] {
        return absl::StrCat("of ", NodeText(graph, node), " and ", NodeText(graph, sibling),
                            " a constant row is added to one alone");
      });
      continue;
    }
    projections.push_back(*other);
  }
  return MergeSets(projections,
                   [&](absl::Span<const Projection> set) { return MergeMatMuls(graph, x, set); });
}

}  // namespace

const Rule kMergeMatMuls = {
    .name = "merge_mat_muls",
    .law = "MatMul(x, w) + b, MatMul(x, v) + c = Split(MatMul(x, Concat(w, v)) + Concat(b, c))",
    // The projections of an attention: x is read once, and one wide product fills the device better
    // than narrow ones. The rows go along, since the split would part them from the product.
    .root = OpKind::kMatMul,
    .match = MatchMergeMatMuls,
};

}  // namespace plait
