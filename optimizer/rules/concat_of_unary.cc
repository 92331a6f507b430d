#include "optimizer/rules/patterns/graph_queries.h"
#include "optimizer/rules/patterns/unary_and_concat.h"
#include "optimizer/rules/rule.h"

namespace plait {

const Rule kConcatOfUnary = {
    .name = "concat_of_unary",
    .law = "Concat(f(x), f(y)) = f(Concat(x, y)), f elementwise and no Relu",
    // As concat_of_relus, for every other function of single elements.
    .root = OpKind::kConcat,
    .match = [](const Rule& rule, const Graph& graph, NodeId node) -> Rewrites {
      if (ProducerOf(graph, node, 0, OpKind::kRelu) != kNoNode) return {};
      return JoinBeforeUnary(graph, node, rule.misses);
    },
};

}  // namespace plait
