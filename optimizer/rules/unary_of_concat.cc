#include "optimizer/rules/patterns/graph_queries.h"
#include "optimizer/rules/patterns/unary_and_concat.h"
#include "optimizer/rules/rule.h"

namespace plait {

const Rule kUnaryOfConcat = {
    .name = "unary_of_concat",
    .law = "f(Concat(x, y)) = Concat(f(x), f(y)), f elementwise and no Relu",
    // As relu_of_concat, for every other function of single elements.
    .root = OpKind::kConcat,
    .match = [](const Rule&, const Graph& graph, NodeId node) -> Rewrites {
      if (SoleUser(graph, graph.node(node).outputs[0], OpKind::kRelu) != kNoNode) return {};
      return ApplyBeforeConcat(graph, node);
    },
};

}  // namespace plait
