#include <algorithm>
#include <limits>

#include "optimizer/rules/patterns/graph_queries.h"
#include "optimizer/rules/patterns/rewrite_builder.h"
#include "optimizer/rules/rule.h"

namespace plait {
namespace {

struct Bounds {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
};

std::optional<Bounds> BoundsOf(const Graph& graph, NodeId clip) {
  Bounds bounds;
  if (InputOr(graph, clip, 1) != kNoTensor) {
    const auto low = ScalarAt(graph, clip, 1);
    if (!low) return std::nullopt;
    bounds.low = *low;
  }
  if (InputOr(graph, clip, 2) != kNoTensor) {
    const auto high = ScalarAt(graph, clip, 2);
    if (!high) return std::nullopt;
    bounds.high = *high;
  }
  // Not in order, or one of them is no number and so no bound.
  if (!(bounds.low <= bounds.high)) return std::nullopt;
  return bounds;
}

Rewrites MatchMergeClips(const Rule&, const Graph& graph, NodeId node) {
  if (graph.output_type(node).dtype != DataType::kFloat32) return {};
  const auto outer = BoundsOf(graph, node);
  if (!outer) return {};
  Bounds inner;
  NodeId producer = SoleProducerOf(graph, node, 0, OpKind::kClip);
  if (producer != kNoNode) {
    const auto bounds = BoundsOf(graph, producer);
    if (!bounds) return {};
    inner = *bounds;
  } else {
    producer = SoleProducerOf(graph, node, 0, OpKind::kRelu);
    if (producer == kNoNode) return {};
    inner.low = 0;
  }
  const float low = static_cast<float>(std::clamp(inner.low, outer->low, outer->high));
  const float high = static_cast<float>(std::clamp(inner.high, outer->low, outer->high));
  RewriteBuilder builder(graph);
  const TensorId clipped =
      builder.Add(OpKind::kClip, {},
                  {graph.node(producer).inputs[0], builder.AddConstant(Tensor::ScalarFloat(low)),
                   builder.AddConstant(Tensor::ScalarFloat(high))});
  return builder.Replace(node, clipped);
}

}  // namespace

const Rule kMergeClips = {
    .name = "merge_clips",
    .law =
        "Clip(Clip(x, a, b), c, d) = Clip(x, clamp(a, c, d), clamp(b, c, d)); Relu is Clip from 0",
    // One pass instead of two. Bounds must be known and in order: a Clip whose lower bound is above
    // its upper one gives the upper one, which clamping the bounds does not keep.
    .root = OpKind::kClip,
    .match = MatchMergeClips,
    .always_wins = true,
};

}  // namespace plait
