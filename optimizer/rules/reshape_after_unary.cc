#include "optimizer/rules/patterns/push_through_unary.h"
#include "optimizer/rules/rule.h"

namespace plait {

const Rule kReshapeAfterUnary = {
    .name = "reshape_after_unary",
    .law = "f(Reshape(x)) = Reshape(f(x)), f elementwise",
    // Brings two Reshapes together, or f to the operator in front, whose kernel may take it along.
    .root = OpKind::kReshape,
    .match = [](const Rule& rule, const Graph& graph,
                NodeId node) { return PushThroughUnary(graph, node, rule.misses); },
};

}  // namespace plait
