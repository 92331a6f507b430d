#include "optimizer/rules/patterns/merge_constants.h"
#include "optimizer/rules/rule.h"

namespace plait {

const Rule kMergeFactors = {
    .name = "merge_factors",
    .law = "(x * a) * b = x * (a * b), a and b constant",
    // One product less: what scales of one layer after the other leave. Not before the search, when
    // a may still be found to be a factor of a GELU.
    .root = OpKind::kMul,
    .match = [](const Rule&, const Graph& graph,
                NodeId node) { return MergeConstants(graph, node); },
    .rounds = true,
};

}  // namespace plait
