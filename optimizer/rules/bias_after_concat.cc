#include "optimizer/rules/patterns/constant_into_concat.h"
#include "optimizer/rules/rule.h"

namespace plait {

const Rule kBiasAfterConcat = {
    .name = "bias_after_concat",
    .law = "Concat(Conv(x, w), Conv(y, v)) + c = Concat(Conv(x, w) + a, Conv(y, v) + b), c = a, b",
    // As scale_after_concat: the parts become biases.
    .root = OpKind::kAdd,
    .match = [](const Rule& rule, const Graph& graph,
                NodeId node) { return ConstantIntoConcat(graph, node, rule.misses); },
    .always_wins = true,
};

}  // namespace plait
