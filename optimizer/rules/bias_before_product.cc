#include "optimizer/rules/patterns/constant_before_product.h"
#include "optimizer/rules/patterns/rewrite_builder.h"
#include "optimizer/rules/rule.h"

namespace plait {
namespace {

Rewrites MatchBiasBeforeProduct(const Rule&, const Graph& graph, NodeId node) {
  const auto shifted = ReadConstantBeforeProduct(graph, node);
  if (!shifted) return {};
  const Node& product = graph.node(shifted->product);
  if (product.attributes->Float("alpha", 1) != 1) return {};
  const int64_t columns = graph.output_type(node).shape.back();
  RewriteBuilder builder(graph);
  TensorId shift = shifted->constant;
  if (graph.type(shift).elements() != columns) {
    shift = builder.Repeat(builder.Reshape(shift, {1}), columns);
  }
  TensorId w = product.inputs[1];
  if (shifted->transposes_w) {
    w = builder.Fold(OpKind::kTranspose, {w}, {{"perm", std::vector<int64_t>{1, 0}}});
  }
  const TensorId row = builder.Fold(OpKind::kMatMul, {builder.Reshape(shift, {1, columns}), w});
  std::vector<TensorId> inputs(product.inputs.begin(), product.inputs.end());
  inputs[0] = shifted->x;
  const TensorId plain = builder.Add(product.op, *product.attributes, inputs);
  const int64_t count = graph.output_type(shifted->product).shape.back();
  return builder.Replace(shifted->product,
                         builder.Add(OpKind::kAdd, {}, {plain, builder.Reshape(row, {count})}));
}

}  // namespace

const Rule kBiasBeforeProduct = {
    .name = "bias_before_product",
    .law = "MatMul(x + c, w) = MatMul(x, w) + MatMul(c, w), c per column of x, also of Gemm",
    // The second product is computed once, and a bias behind a product is its kernel's to add. Not
    // before the search: the shift of a normalization is part of that first.
    .root = OpKind::kAdd,
    .match = MatchBiasBeforeProduct,
};

}  // namespace plait
