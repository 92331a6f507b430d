#include "optimizer/rules/patterns/graph_queries.h"
#include "optimizer/rules/patterns/unary_and_concat.h"
#include "optimizer/rules/rule.h"

namespace plait {

const Rule kConcatOfRelus = {
    .name = "concat_of_relus",
    .law = "Concat(Relu(x), Relu(y)) = Relu(Concat(x, y))",
    // One launch in the place of several; or several Relus that their producers take along for
    // nothing against one that does not. The search decides.
    .root = OpKind::kConcat,
    .match = [](const Rule& rule, const Graph& graph, NodeId node) -> Rewrites {
      if (ProducerOf(graph, node, 0, OpKind::kRelu) == kNoNode) return {};
      return JoinBeforeUnary(graph, node, rule.misses);
    },
};

}  // namespace plait
