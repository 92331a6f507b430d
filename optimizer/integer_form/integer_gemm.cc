#include "optimizer/integer_form/integer_form.h"
#include "optimizer/integer_form/integer_product.h"

namespace plait {
namespace {

bool IsPlainProduct(const Attributes& attributes) {
  return attributes.Float("alpha", 1) == 1 && attributes.Float("beta", 1) == 1 &&
         attributes.Int("transA", 0) == 0;
}

// There is no product of integers with a bias, but a convolution of single pixels is one. A 0 keeps
// an extent as it is, so that nothing here says how many rows there are.
Rewrites MatchIntegerGemm(const Rule&, const Graph& graph, NodeId node) {
  const auto found = ProductBefore(graph, node, OpKind::kGemm);
  if (!found) return {};
  const Attributes& attributes = *graph.node(found->product).attributes;
  const auto x = DequantizedInput(graph, found->product, 0);
  const auto w = DequantizedInput(graph, found->product, 1);
  if (!x || !w || !x->has_one_scale() || w->constant == nullptr) return {};
  if (!RunsInOnnxRuntime(*found, *x, *w)) return {};
  const int by_row = attributes.Int("transB", 0) != 0 ? 0 : 1;  // the axis of w's channels
  if (!IsPlainProduct(attributes) || (!w->has_one_scale() && w->axis != by_row)) return {};
  const int64_t depth = x->type.shape[1];
  const int64_t channels = w->type.shape[by_row];
  RewriteBuilder builder(graph);
  const auto bias = BiasOfSums(graph, *found, *x, *w, channels, &builder);
  if (!bias) return {};
  TensorId weights = IntegersOf(*w, &builder);
  if (by_row == 1) {
    weights = builder.Fold(OpKind::kTranspose, {weights}, {{"perm", std::vector<int64_t>{1, 0}}});
  }
  weights = builder.Reshape(weights, {channels, depth, 1, 1});
  const TensorId pixels =
      builder.Add(OpKind::kReshape, {},
                  {IntegersOf(*x, &builder),
                   builder.AddConstant(Tensor::Int64s(std::vector<int64_t>{0, 0, 1, 1}))});
  const TensorId y =
      builder.Add(OpKind::kQLinearConv, {{"kernel_shape", std::vector<int64_t>{1, 1}}},
                  {pixels, ScaleOf(*x, &builder), ZeroPointOf(*x, &builder), weights,
                   ScaleOf(*w, &builder), ZeroPointOf(*w, &builder), ResultScaleOf(graph, *found),
                   ResultZeroPointOf(graph, *found, &builder), *bias});
  const TensorId rows_of_y =
      builder.Add(OpKind::kReshape, {},
                  {y, builder.AddConstant(Tensor::Int64s(std::vector<int64_t>{0, channels}))});
  return ReplaceQuantized(graph, *found, rows_of_y, &builder);
}

}  // namespace

const Rule kIntegerGemm = {
    .name = "integer_gemm",
    .law =
        "QuantizeLinear(Gemm(DequantizeLinear(x), DequantizeLinear(w), b)) is QLinearConv of x's "
        "rows as pixels, as for Conv",
    .root = OpKind::kQuantizeLinear,
    .match = MatchIntegerGemm,
};

}  // namespace plait
