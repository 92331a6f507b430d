#include "optimizer/rules/patterns/expand_batch_normalization.h"
#include "optimizer/rules/patterns/graph_queries.h"
#include "optimizer/rules/rule.h"

namespace plait {
namespace {

Rewrites MatchBatchNormalizationAfterConv(const Rule& rule, const Graph& graph, NodeId node) {
  if (SoleProducerOf(graph, node, 0, OpKind::kConv, rule.misses) == kNoNode) return {};
  return ExpandBatchNormalization(graph, node, rule.misses);
}

}  // namespace

const Rule kBatchNormalizationAfterConv = {
    .name = "batch_normalization_after_conv",
    .law =
        "BatchNormalization(Conv(x)) = Conv(x) * s + (b - m * s), "
        "s = scale / sqrt(variance + epsilon)",
    // The scale and the shift then go into the convolution's weights and bias, so that nothing of
    // the normalization is left at run time.
    .root = OpKind::kBatchNormalization,
    .match = MatchBatchNormalizationAfterConv,
    .always_wins = true,
};

}  // namespace plait
