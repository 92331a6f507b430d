#include "optimizer/rules/patterns/graph_queries.h"
#include "optimizer/rules/patterns/rewrite_builder.h"
#include "optimizer/rules/rule.h"

namespace plait {
namespace {

// Whether kernels of the node's operator add to what they write.
bool IsSummable(const Graph& graph, NodeId node) {
  if (node == kNoNode) return false;
  const OpKind op = graph.node(node).op;
  return op == OpKind::kGemm || op == OpKind::kMatMul;
}

// Where neither side is repeated.
Rewrites MatchReshapeAfterSum(const Rule&, const Graph& graph, NodeId node) {
  const Node& reshape = graph.node(node);
  const TensorId x = reshape.inputs[0];
  if (!IsSummable(graph, graph.tensor(x).producer)) return {};
  const NodeId sum = SoleUser(graph, reshape.outputs[0], OpKind::kAdd);
  if (sum == kNoNode || graph.input_type(sum, 0) != graph.input_type(sum, 1)) return {};
  const Node& add = graph.node(sum);
  const TensorId y = add.inputs[add.inputs[0] == reshape.outputs[0] ? 1 : 0];
  RewriteBuilder builder(graph);
  const Shape& shape = graph.type(x).shape;
  const TensorId like_x =
      graph.tensor(y).constant != nullptr
          ? builder.Reshape(y, shape)
          : builder.Add(OpKind::kReshape, {}, {y, builder.AddConstant(Tensor::Int64s(shape))});
  const TensorId added = builder.Add(OpKind::kAdd, {}, {x, like_x});
  return builder.Replace(
      sum, builder.Add(OpKind::kReshape, *reshape.attributes, {added, reshape.inputs[1]}));
}

}  // namespace

const Rule kReshapeAfterSum = {
    .name = "reshape_after_sum",
    .law = "Reshape(x) + y = Reshape(x + Reshape(y)), x a product",
    // A product's kernel adds what has the product's shape. GPT-2 multiplies [64, 768] and adds
    // [1, 64, 768] to it, which so costs no kernel of its own.
    .root = OpKind::kReshape,
    .match = MatchReshapeAfterSum,
};

}  // namespace plait
