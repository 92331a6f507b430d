#include "optimizer/rules/patterns/merge_constants.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "optimizer/rules/patterns/graph_queries.h"
#include "optimizer/rules/patterns/rewrite_builder.h"
#include "optimizer/rules/patterns/step_functions.h"

namespace plait {
namespace {

// Numbers so large that a sum with them rounds the other side to whole numbers, as (x + 2^23) -
// 2^23 does on purpose, are no addends like others; and of factors as large or small as these the
// product may be no number. Weights, whose values are not looked up, have neither.
constexpr double kAddendMax = 0x1p20;
constexpr double kFactorMax = 1e15;

bool MayBeJoined(const Graph& graph, OpKind op, TensorId constant) {
  const DataType dtype = graph.type(constant).dtype;
  if (IsInteger(dtype)) return true;  // wrapping sums and products may be joined in any order
  if (dtype != DataType::kFloat32) return false;
  const Tensor* const values = graph.tensor(constant).constant->inline_value();
  if (values == nullptr) return true;
  const std::vector<double> numbers = values->AsDoubles();
  return std::all_of(numbers.begin(), numbers.end(), [&](double number) {
    const double size = std::abs(number);
    if (op == OpKind::kAdd) return size < kAddendMax;
    return size == 0 || (size > 1 / kFactorMax && size < kFactorMax);
  });
}

}  // namespace

Rewrites MergeConstants(const Graph& graph, NodeId node) {
  const OpKind op = graph.node(node).op;
  const auto outer = OneConstantInput(graph, node);
  if (!outer) return {};
  const NodeId first = SoleProducerOf(graph, node, outer->other, op);
  const auto inner = first == kNoNode ? std::nullopt : OneConstantInput(graph, first);
  if (!inner) return {};
  const TensorId a = graph.node(first).inputs[inner->constant];
  const TensorId b = graph.node(node).inputs[outer->constant];
  if (!MayBeJoined(graph, op, a) || !MayBeJoined(graph, op, b)) return {};
  if (IsFloat(graph.output_type(node).dtype) && ReachesStep(graph, graph.node(node).outputs[0])) {
    return {};
  }
  RewriteBuilder builder(graph);
  const TensorId both = builder.FoldPair(op, a, b);
  return builder.Replace(node, builder.Add(op, {}, {graph.node(first).inputs[inner->other], both}));
}

}  // namespace plait
