#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "optimizer/ops/shared/axes.h"
#include "optimizer/rules/patterns/graph_queries.h"
#include "optimizer/rules/patterns/reasons.h"
#include "optimizer/rules/patterns/rewrite_builder.h"
#include "optimizer/rules/rule.h"

namespace plait {
namespace {

// A normalization of rows that only products with constant matrices read.
struct MergeableNormalization {
  NodeId node = kNoNode;
  TensorId scale = kNoTensor;
  TensorId shift = kNoTensor;  // kNoTensor: none
};

bool IsRow(const Graph& graph, NodeId node, int index, int64_t columns) {
  if (graph.constant(node, index) == nullptr) return false;
  const TensorType& type = graph.input_type(node, index);
  return type.elements() == columns && type.rank() > 0 && type.shape.back() == columns;
}

std::optional<MergeableNormalization> ReadMergeableNormalization(const Graph& graph, NodeId id,
                                                                 Misses misses) {
  const Node& node = graph.node(id);
  if (node.op != OpKind::kLayerNormalization || node.outputs.size() != 1) return std::nullopt;
  const auto miss = [&](absl::string_view what) {
    return misses.Because([&] { return absl::StrCat(NodeText(graph, id), what); });
  };
  const TensorType& type = graph.output_type(id);
  const int64_t rank = type.rank();
  if (type.dtype != DataType::kFloat32 || rank < 2) return miss(" is not in float32");
  if (NormalAxis(node.attributes->Int("axis", -1), rank) != rank - 1) {
    return miss(" is not over the last axis");
  }
  const MergeableNormalization normalization{id, node.inputs[1], InputOr(graph, id, 2)};
  if (!IsRow(graph, id, 1, type.shape.back())) return miss(" has a scale that is no constant row");
  if (normalization.shift != kNoTensor && !IsRow(graph, id, 2, type.shape.back())) {
    return miss(" has a shift that is no constant row");
  }
  const auto multiplies = [&](NodeId reader) {
    return graph.node(reader).op == OpKind::kMatMul && graph.constant(reader, 1) != nullptr &&
           graph.input_type(reader, 1).rank() == 2;
  };
  if (!IsReadOnlyBy(graph, node.outputs[0], multiplies)) {
    return miss(" is read by more than products with constant matrices");
  }
  return normalization;
}

// What the product `reader` gives when it reads `plain`, which is neither scaled nor shifted.
TensorId Multiply(const Graph& graph, RewriteBuilder* builder, const MergeableNormalization& of,
                  NodeId reader, TensorId plain) {
  const TensorId w = graph.node(reader).inputs[1];
  const int64_t rows = graph.type(w).shape[0];
  const TensorId scaled = builder->Fold(OpKind::kMul, {w, builder->Reshape(of.scale, {rows, 1})});
  const TensorId product = builder->Add(OpKind::kMatMul, {}, {plain, scaled});
  if (of.shift == kNoTensor) return product;
  const TensorId row = builder->Fold(OpKind::kMatMul, {builder->Reshape(of.shift, {1, rows}), w});
  return builder->Add(OpKind::kAdd, {}, {product, builder->Reshape(row, {graph.type(w).shape[1]})});
}

Rewrites MatchMergeLayerNormalizations(const Rule& rule, const Graph& graph, NodeId node) {
  const TensorId x = graph.node(node).inputs[0];
  const auto is_sibling = [&](NodeId user) {
    return user > node && graph.node(user).op == OpKind::kLayerNormalization &&
           graph.node(user).inputs[0] == x;
  };
  if (absl::c_none_of(graph.users(x), is_sibling)) return {};
  const auto first = ReadMergeableNormalization(graph, node, rule.misses);
  if (!first) return {};
  const Attributes& attributes = *graph.node(node).attributes;
  std::vector<MergeableNormalization> all = {*first};
  for (const NodeId user : graph.users(x)) {
    if (!is_sibling(user)) continue;
    const auto other = ReadMergeableNormalization(graph, user, rule.misses);
    if (!other) continue;
    if (*graph.node(user).attributes == attributes) {
      all.push_back(*other);
    } else {
      rule.misses.Because(
          [&] { return absl::StrCat(NodeText(graph, user), " has other attributes"); });
    }
  }
  if (all.size() < 2) return {};
  RewriteBuilder builder(graph);
  const TensorId one = builder.AddConstant(Tensor::Of<float>({1}, {1.0f}));
  const TensorId ones = builder.Repeat(one, graph.output_type(node).shape.back());
  const TensorId plain = builder.Add(OpKind::kLayerNormalization, attributes, {x, ones});
  for (const MergeableNormalization& of : all) {
    for (const NodeId reader : graph.users(graph.node(of.node).outputs[0])) {
      builder.Rewire(graph.node(reader).outputs[0], Multiply(graph, &builder, of, reader, plain));
    }
  }
  return builder.Finish();
}

}  // namespace

const Rule kMergeLayerNormalizations = {
    .name = "merge_layer_normalizations",
    .law = "MatMul(Norm(x) * a + b, w) = MatMul(Norm(x), a * w) + MatMul(b, w), for several a, b",
    // Layers that run side by side normalize one x each for themselves. With scale and shift in the
    // weights one normalization is left, and products of one x, which merge further. A single one
    // would gain nothing by it.
    .root = OpKind::kLayerNormalization,
    .match = MatchMergeLayerNormalizations,
};

}  // namespace plait
