#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "optimizer/ops/shared/axes.h"
#include "optimizer/rules/patterns/graph_queries.h"
#include "optimizer/rules/patterns/reasons.h"
#include "optimizer/rules/patterns/rewrite_builder.h"
#include "optimizer/rules/rule.h"

namespace plait {
namespace {

bool IsProduct(const Graph& graph, NodeId node) {
  return graph.node(node).op == OpKind::kGemm || graph.node(node).op == OpKind::kMatMul;
}

// Gemm is defined for matrices only.
bool MultipliesMatrices(const Graph& graph, NodeId node) {
  if (graph.node(node).op == OpKind::kGemm) return true;
  return graph.node(node).op == OpKind::kMatMul && graph.input_type(node, 0).rank() == 2 &&
         graph.input_type(node, 1).rank() == 2;
}

Rewrites MatchTransposeIntoProduct(const Rule& rule, const Graph& graph, NodeId node) {
  const Node& transpose = graph.node(node);
  const TensorType& type = graph.output_type(node);
  const auto& readers = graph.users(transpose.outputs[0]);
  if (absl::c_none_of(readers, [&](NodeId reader) { return IsProduct(graph, reader); })) return {};
  if (type.rank() != 2 || !IsFloat(type.dtype)) {
    return rule.misses.Because([&] {
      return absl::StrCat(NodeText(graph, node), " gives ", type.ToString(), ", no matrix");
    });
  }
  const std::vector<int64_t> axes = transpose.attributes->Ints("perm", {1, 0});
  if (NormalAxis(axes[0], 2) != 1) return {};
  if (!graph.has_single_use(transpose.outputs[0])) {
    return rule.misses.Because([&] { return ReadersText(graph, transpose.outputs[0]); });
  }
  const NodeId reader = readers[0];
  if (!MultipliesMatrices(graph, reader)) {
    return rule.misses.Because(
        [&] { return absl::StrCat(NodeText(graph, reader), " is no product of two matrices"); });
  }
  const Node& product = graph.node(reader);
  std::vector<TensorId> inputs(product.inputs.begin(), product.inputs.end());
  const bool is_left = inputs[0] == transpose.outputs[0];
  if (!is_left && inputs[1] != transpose.outputs[0]) return {};  // the bias
  inputs[is_left ? 0 : 1] = transpose.inputs[0];
  Attributes attributes = *product.attributes;
  const char* const name = is_left ? "transA" : "transB";
  attributes.Set(name, int64_t{attributes.Int(name, 0) == 0 ? 1 : 0});
  RewriteBuilder builder(graph);
  return builder.Replace(reader, builder.Add(OpKind::kGemm, std::move(attributes), inputs));
}

}  // namespace

const Rule kTransposeIntoProduct = {
    .name = "transpose_into_product",
    .law = "Gemm(Transpose(x), y) = Gemm(x, y, transA), also of y and of MatMul, matrices",
    // The product reads x the other way round, which saves a copy; some kernels multiply rows only,
    // so the search decides.
    .root = OpKind::kTranspose,
    .match = MatchTransposeIntoProduct,
};

}  // namespace plait
