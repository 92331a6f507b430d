#include <algorithm>

#include "optimizer/ops/shared/axes.h"
#include "optimizer/rules/patterns/graph_queries.h"
#include "optimizer/rules/patterns/rewrite_builder.h"
#include "optimizer/rules/rule.h"

namespace plait {
namespace {

Rewrites MatchGlobalPoolFromMean(const Rule&, const Graph& graph, NodeId node) {
  const TensorType& type = graph.input_type(node, 0);
  auto axes = IntsAt(graph, node, 1);
  if (type.rank() != 4 || !axes || axes->size() != 2) return {};
  for (int64_t& axis : *axes) axis = NormalAxis(axis, 4);
  std::sort(axes->begin(), axes->end());
  if ((*axes)[0] != 2 || (*axes)[1] != 3) return {};
  RewriteBuilder builder(graph);
  TensorId mean = builder.Add(OpKind::kGlobalAveragePool, {}, {graph.node(node).inputs[0]});
  if (graph.node(node).attributes->Int("keepdims", 1) == 0) {
    const TensorId shape = builder.AddConstant(Tensor::Int64s(graph.output_type(node).shape));
    mean = builder.Add(OpKind::kReshape, {{"allowzero", int64_t{1}}}, {mean, shape});
  }
  return builder.Replace(node, mean);
}

}  // namespace

const Rule kGlobalPoolFromMean = {
    .name = "global_pool_from_mean",
    .law = "ReduceMean(x, height and width) = GlobalAveragePool(x)",
    // The same sums under the name that kernels for images have. Four dimensions, since the pool is
    // defined by them; where the axes are dropped, a view follows.
    .root = OpKind::kReduceMean,
    .match = MatchGlobalPoolFromMean,
    .always_wins = true,
};

}  // namespace plait
