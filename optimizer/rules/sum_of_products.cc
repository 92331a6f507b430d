#include "optimizer/rules/patterns/graph_queries.h"
#include "optimizer/rules/patterns/rewrite_builder.h"
#include "optimizer/rules/rule.h"

namespace plait {
namespace {

// A product with a constant matrix and, of a Gemm, the constant that it adds.
struct Product {
  OpKind op;
  TensorId x;
  TensorId w;
  TensorId b;  // kNoTensor: none
  bool transposes_w;
};

std::optional<Product> ReadProduct(const Graph& graph, NodeId add, int index) {
  for (const OpKind op : {OpKind::kMatMul, OpKind::kGemm}) {
    const NodeId node = SoleProducerOf(graph, add, index, op);
    if (node == kNoNode) continue;
    const Attributes& attributes = *graph.node(node).attributes;
    const TensorId b = InputOr(graph, node, 2);
    if (graph.constant(node, 1) == nullptr || graph.input_type(node, 1).rank() != 2) break;
    if (b != kNoTensor && graph.constant(node, 2) == nullptr) break;
    if (attributes.Int("transA", 0) != 0 || attributes.Float("alpha", 1) != 1) break;
    if (attributes.Float("beta", 1) != 1) break;
    return Product{op, graph.node(node).inputs[0], graph.node(node).inputs[1], b,
                   attributes.Int("transB", 0) != 0};
  }
  return std::nullopt;
}

TensorId SumOfProductBiases(RewriteBuilder* builder, const Product& a, const Product& b) {
  if (a.b == kNoTensor || b.b == kNoTensor) return a.b == kNoTensor ? b.b : a.b;
  return builder->FoldPair(OpKind::kAdd, a.b, b.b);
}

Rewrites MatchSumOfProducts(const Rule&, const Graph& graph, NodeId node) {
  const auto a = ReadProduct(graph, node, 0);
  const auto b = ReadProduct(graph, node, 1);
  if (!a || !b || a->op != b->op || a->transposes_w != b->transposes_w) return {};
  // One factor in common: other rules have no copies.
  if (a->x == b->x || a->w == b->w) return {};
  const int64_t axis = graph.type(a->x).rank() - 1;
  if (axis < 1) return {};
  RewriteBuilder builder(graph);
  const TensorId x = builder.Add(OpKind::kConcat, {{"axis", axis}}, {a->x, b->x});
  const TensorId w =
      builder.Fold(OpKind::kConcat, {a->w, b->w}, {{"axis", int64_t{a->transposes_w ? 1 : 0}}});
  Attributes attributes;
  if (a->transposes_w) attributes.Set("transB", int64_t{1});
  return builder.Replace(node, builder.Add(a->op, std::move(attributes),
                                           {x, w, SumOfProductBiases(&builder, *a, *b)}));
}

}  // namespace

const Rule kSumOfProducts = {
    .name = "sum_of_products",
    .law = "MatMul(x, w) + MatMul(y, v) = MatMul(Concat(x, y), Concat(w, v)), also of Gemm",
    // The sum over the columns of x takes the sum of both along, as in a recurrent cell: one
    // product for a copy of x and y side by side. w and v are constant.
    .root = OpKind::kAdd,
    .match = MatchSumOfProducts,
};

}  // namespace plait
