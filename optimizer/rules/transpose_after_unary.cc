#include "optimizer/rules/patterns/push_through_unary.h"
#include "optimizer/rules/rule.h"

namespace plait {

const Rule kTransposeAfterUnary = {
    .name = "transpose_after_unary",
    .law = "f(Transpose(x)) = Transpose(f(x)), f elementwise",
    // Brings two Transposes together, or f to the operator in front, whose kernel may take it
    // along.
    .root = OpKind::kTranspose,
    .match = [](const Rule& rule, const Graph& graph,
                NodeId node) { return PushThroughUnary(graph, node, rule.misses); },
};

}  // namespace plait
