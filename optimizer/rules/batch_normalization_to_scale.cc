#include "optimizer/rules/patterns/expand_batch_normalization.h"
#include "optimizer/rules/rule.h"

namespace plait {

const Rule kBatchNormalizationToScale = {
    .name = "batch_normalization_to_scale",
    .law = "BatchNormalization(x) = x * s + (b - m * s), s = scale / sqrt(variance + epsilon)",
    // Two elementwise operators fuse with their neighbours. Not portable: ONNX Runtime runs them in
    // two passes over memory, and does not put the normalization together again.
    .root = OpKind::kBatchNormalization,
    .match = [](const Rule& rule, const Graph& graph,
                NodeId node) { return ExpandBatchNormalization(graph, node, rule.misses); },
    .always_wins = true,
    .portable = false,
};

}  // namespace plait
