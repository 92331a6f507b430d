#include "optimizer/integer_form/integer_form.h"
#include "optimizer/integer_form/integer_product.h"

namespace plait {
namespace {

Rewrites MatchIntegerConv(const Rule&, const Graph& graph, NodeId node) {
  const auto found = ProductBefore(graph, node, OpKind::kConv);
  if (!found) return {};
  const auto x = DequantizedInput(graph, found->product, 0);
  const auto w = DequantizedInput(graph, found->product, 1);
  if (!x || !w || !x->has_one_scale() || w->constant == nullptr) return {};
  if (!RunsInOnnxRuntime(*found, *x, *w)) return {};
  if (!w->has_one_scale() && w->axis != 0) return {};
  RewriteBuilder builder(graph);
  const auto bias = BiasOfSums(graph, *found, *x, *w, w->type.shape[0], &builder);
  if (!bias) return {};
  const TensorId y = builder.Add(
      OpKind::kQLinearConv, *graph.node(found->product).attributes,
      {IntegersOf(*x, &builder), ScaleOf(*x, &builder), ZeroPointOf(*x, &builder),
       IntegersOf(*w, &builder), ScaleOf(*w, &builder), ZeroPointOf(*w, &builder),
       ResultScaleOf(graph, *found), ResultZeroPointOf(graph, *found, &builder), *bias});
  return ReplaceQuantized(graph, *found, y, &builder);
}

}  // namespace

const Rule kIntegerConv = {
    .name = "integer_conv",
    .law =
        "QuantizeLinear(Conv(DequantizeLinear(x), DequantizeLinear(w), b)) is QLinearConv(x, w, b "
        "/ (scale of x * scale of w)), and a Relu or Clip between the two bounds the integers",
    .root = OpKind::kQuantizeLinear,
    .match = MatchIntegerConv,
};

}  // namespace plait
