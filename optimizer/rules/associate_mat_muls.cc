#include "optimizer/ops/shared/axes.h"
#include "optimizer/rules/patterns/graph_queries.h"
#include "optimizer/rules/patterns/rewrite_builder.h"
#include "optimizer/rules/rule.h"

namespace plait {
namespace {

// 2^28 multiplications take a load about a second.
constexpr int64_t kFoldedMultiplicationsMax = int64_t{1} << 28;

// Three matrices, of which `first` multiplies the first two or the last two.
struct Chain {
  TensorId a, b, c;
  NodeId first;
  bool from_left;  // (a b) c, and not a (b c)
};

int64_t RowOf(const TensorType& type) { return type.shape.back(); }

// Multiplications of a b, where it has `elements`.
int64_t Multiplications(int64_t elements, const TensorType& a) {
  return SaturatingMultiply(elements, RowOf(a));
}

Rewrites Associate(const Graph& graph, NodeId node, const Chain& chain) {
  for (const TensorId tensor : {chain.a, chain.b, chain.c}) {
    if (graph.type(tensor).rank() < 2) return {};
  }
  const TensorType& a = graph.type(chain.a);
  const TensorType& b = graph.type(chain.b);
  const int64_t results = graph.output_type(node).elements();
  const int64_t inner = graph.output_type(chain.first).elements();
  RewriteBuilder builder(graph);
  const bool is_constant = graph.tensor(chain.b).constant != nullptr &&
                           graph.tensor(chain.from_left ? chain.c : chain.a).constant != nullptr;
  const TensorId left = chain.from_left ? chain.b : chain.a;
  const TensorId right = chain.from_left ? chain.c : chain.b;
  const TensorId product = is_constant ? builder.Fold(OpKind::kMatMul, {left, right})
                                       : builder.Add(OpKind::kMatMul, {}, {left, right});
  if (product == kNoTensor) return {};
  int64_t folded = Multiplications(builder.type(product).elements(), graph.type(left));
  if (is_constant && folded > kFoldedMultiplicationsMax) return {};
  if (is_constant) folded = 0;
  const int64_t before = SaturatingAdd(Multiplications(inner, chain.from_left ? a : b),
                                       Multiplications(results, chain.from_left ? b : a));
  const int64_t after = SaturatingAdd(folded, Multiplications(results, chain.from_left ? a : b));
  if (after >= before) return {};
  return builder.Replace(node, chain.from_left
                                   ? builder.Add(OpKind::kMatMul, {}, {chain.a, product})
                                   : builder.Add(OpKind::kMatMul, {}, {product, chain.c}));
}

Rewrites MatchAssociateMatMuls(const Rule&, const Graph& graph, NodeId node) {
  const auto& outer = graph.node(node).inputs;
  if (!IsFloat(graph.output_type(node).dtype)) return {};
  const NodeId left = SoleProducerOf(graph, node, 0, OpKind::kMatMul);
  if (left != kNoNode) {
    const auto& inner = graph.node(left).inputs;
    Rewrites rewrites = Associate(graph, node, {inner[0], inner[1], outer[1], left, true});
    if (!rewrites.empty()) return rewrites;
  }
  const NodeId right = SoleProducerOf(graph, node, 1, OpKind::kMatMul);
  if (right == kNoNode) return {};
  const auto& inner = graph.node(right).inputs;
  return Associate(graph, node, {outer[0], inner[0], inner[1], right, false});
}

}  // namespace

const Rule kAssociateMatMuls = {
    .name = "associate_mat_muls",
    .law = "(x y) z = x (y z), either way, where that takes fewer multiplications",
    // Attention without Softmax, whose queries may wait for keys times values; layers without an
    // activation between them, whose weights are multiplied once.
    .root = OpKind::kMatMul,
    .match = MatchAssociateMatMuls,
};

}  // namespace plait
