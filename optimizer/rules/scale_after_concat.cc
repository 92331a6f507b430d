#include "optimizer/rules/patterns/constant_into_concat.h"
#include "optimizer/rules/rule.h"

namespace plait {

const Rule kScaleAfterConcat = {
    .name = "scale_after_concat",
    .law = "Concat(Conv(x, w), Conv(y, v)) * c = Concat(Conv(x, w) * a, Conv(y, v) * b), c = a, b",
    // A normalization behind a block of branches: each branch takes its part into its weights.
    .root = OpKind::kMul,
    .match = [](const Rule& rule, const Graph& graph,
                NodeId node) { return ConstantIntoConcat(graph, node, rule.misses); },
    .always_wins = true,
};

}  // namespace plait
