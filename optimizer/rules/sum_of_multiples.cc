#include "optimizer/rules/patterns/graph_queries.h"
#include "optimizer/rules/patterns/rewrite_builder.h"
#include "optimizer/rules/patterns/step_functions.h"
#include "optimizer/rules/rule.h"

namespace plait {
namespace {

// A tensor times a constant; kNoTensor is the factor 1.
struct Multiple {
  TensorId x;
  TensorId factor;
};

Multiple ReadMultiple(const Graph& graph, NodeId add, int index) {
  const NodeId mul = SoleProducerOf(graph, add, index, OpKind::kMul);
  const auto side = mul == kNoNode ? std::nullopt : OneConstantInput(graph, mul);
  if (!side) return {graph.node(add).inputs[index], kNoTensor};
  return {graph.node(mul).inputs[side->other], graph.node(mul).inputs[side->constant]};
}

TensorId SumOfFactors(RewriteBuilder* builder, const Multiple& a, const Multiple& b,
                      DataType dtype) {
  const bool both_are_one = a.factor == kNoTensor && b.factor == kNoTensor;
  const double number[] = {both_are_one ? 2.0 : 1.0};
  const TensorId constant = builder->AddConstant(Tensor::FromDoubles({dtype, {}}, number));
  if (both_are_one) return constant;
  return builder->FoldPair(OpKind::kAdd, a.factor == kNoTensor ? constant : a.factor,
                           b.factor == kNoTensor ? constant : b.factor);
}

Rewrites MatchSumOfMultiples(const Rule&, const Graph& graph, NodeId node) {
  const Multiple a = ReadMultiple(graph, node, 0);
  const Multiple b = ReadMultiple(graph, node, 1);
  if (a.x != b.x || graph.tensor(a.x).constant != nullptr) return {};
  const bool is_exact = !IsFloat(graph.output_type(node).dtype) || a.factor == b.factor;
  if (!is_exact && ReachesStep(graph, graph.node(node).outputs[0])) return {};
  RewriteBuilder builder(graph);
  const TensorId factor = SumOfFactors(&builder, a, b, graph.type(a.x).dtype);
  return builder.Replace(node, builder.Add(OpKind::kMul, {}, {a.x, factor}));
}

}  // namespace

const Rule kSumOfMultiples = {
    .name = "sum_of_multiples",
    .law = "x * a + x * b = x * (a + b), a and b constant or 1",
    // One product in the place of up to three operators. A factor can go on into weights, which a
    // sum with itself cannot.
    .root = OpKind::kAdd,
    .match = MatchSumOfMultiples,
    .always_wins = true,
    .rounds = true,
};

}  // namespace plait
