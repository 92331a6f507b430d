#include "optimizer/rules/patterns/expand_batch_normalization.h"
#include "optimizer/rules/patterns/graph_queries.h"
#include "optimizer/rules/rule.h"

namespace plait {
namespace {

// The scale and the shift then go into the convolution's weights and bias.
std::optional<Rewrite> Match(const Graph& graph, NodeId node) {
  if (SoleProducerOf(graph, node, 0, OpKind::kConv) == kNoNode) return std::nullopt;
  return ExpandBatchNormalization(graph, node);
}

}  // namespace

extern const Rule kBatchNormalizationAfterConv = {
    .name = "batch_normalization_after_conv",
    .law =
        "BatchNormalization(Conv(x)) = Conv(x) * s + (b - m * s), "
        "s = scale / sqrt(variance + epsilon)",
    .root = OpKind::kBatchNormalization,
    .match = Match,
    .always_wins = true,
};

}  // namespace plait
