#include "optimizer/integer_form/integer_form.h"
#include "optimizer/integer_form/integer_product.h"

namespace plait {
namespace {

Rewrites MatchIntegerMatMul(const Rule&, const Graph& graph, NodeId node) {
  const auto found = ProductBefore(graph, node, OpKind::kMatMul);
  if (!found) return {};
  const auto a = DequantizedInput(graph, found->product, 0);
  const auto b = DequantizedInput(graph, found->product, 1);
  if (!a || !b || !a->has_one_scale()) return {};
  if (!RunsInOnnxRuntime(*found, *a, *b)) return {};
  // Of more matrices than one, or of one vector, columns have no scales of their own.
  const bool has_columns = b->type.rank() == 2 && b->axis == 1;
  if (!b->has_one_scale() && !has_columns) return {};
  RewriteBuilder builder(graph);
  const TensorId y =
      builder.Add(OpKind::kQLinearMatMul, {},
                  {IntegersOf(*a, &builder), ScaleOf(*a, &builder), ZeroPointOf(*a, &builder),
                   IntegersOf(*b, &builder), ScaleOf(*b, &builder), ZeroPointOf(*b, &builder),
                   ResultScaleOf(graph, *found), ResultZeroPointOf(graph, *found, &builder)});
  return ReplaceQuantized(graph, *found, y, &builder);
}

}  // namespace

const Rule kIntegerMatMul = {
    .name = "integer_mat_mul",
    .law =
        "QuantizeLinear(MatMul(DequantizeLinear(a), DequantizeLinear(b))) is QLinearMatMul(a, b), "
        "and a Relu or Clip between the two bounds the integers",
    .root = OpKind::kQuantizeLinear,
    .match = MatchIntegerMatMul,
};

}  // namespace plait
