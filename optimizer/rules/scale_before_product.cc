#include "optimizer/rules/patterns/constant_before_product.h"
#include "optimizer/rules/patterns/rewrite_builder.h"
#include "optimizer/rules/rule.h"

namespace plait {
namespace {

Rewrites MatchScaleBeforeProduct(const Rule&, const Graph& graph, NodeId node) {
  const auto scaled = ReadConstantBeforeProduct(graph, node);
  if (!scaled) return {};
  const Node& product = graph.node(scaled->product);
  const int64_t count = graph.type(scaled->constant).elements();
  RewriteBuilder builder(graph);
  const TensorId scale = scaled->transposes_w ? builder.Reshape(scaled->constant, {1, count})
                                              : builder.Reshape(scaled->constant, {count, 1});
  std::vector<TensorId> inputs(product.inputs.begin(), product.inputs.end());
  inputs[0] = scaled->x;
  inputs[1] = builder.Fold(OpKind::kMul, {inputs[1], scale});
  return builder.Replace(scaled->product, builder.Add(product.op, *product.attributes, inputs));
}

}  // namespace

const Rule kScaleBeforeProduct = {
    .name = "scale_before_product",
    .law = "MatMul(x * c, w) = MatMul(x, c * w), c per column of x, also of Gemm",
    // The scale of a column of x is one of a row of the weights, where it costs nothing. Not before
    // the search: the last factor of a GELU, or the scale of a normalization, is part of that
    // first.
    .root = OpKind::kMul,
    .match = MatchScaleBeforeProduct,
};

}  // namespace plait
