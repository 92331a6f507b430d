#include "optimizer/rules/patterns/merge_constants.h"
#include "optimizer/rules/rule.h"

namespace plait {

const Rule kMergeAddends = {
    .name = "merge_addends",
    .law = "(x + a) + b = x + (a + b), a and b constant",
    // One sum less: what biases and shifts of one layer after the other leave. Not before the
    // search, when a may still be found to be the shift of a normalization.
    .root = OpKind::kAdd,
    .match = [](const Rule&, const Graph& graph,
                NodeId node) { return MergeConstants(graph, node); },
    .rounds = true,
};

}  // namespace plait
