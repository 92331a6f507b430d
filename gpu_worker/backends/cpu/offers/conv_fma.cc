#include <algorithm>

#include "gpu_worker/backends/cpu/offers/family_offer.h"
#include "gpu_worker/backends/cpu/offers/fma_convolution.h"
#include "gpu_worker/backends/cpu/offers/worth_dividing.h"
#include "gpu_worker/backends/groups/format_rows.h"
#include "gpu_worker/backends/groups/node_checks.h"
#include "gpu_worker/backends/groups/pointwise.h"
#include "optimizer/ops/shared/axes.h"

namespace plait {
namespace {

// oneDNN's kernels write no parts.
bool IsConcatenated(const Graph& graph, TensorId image) {
  const absl::Span<const NodeId> users = graph.users(image);
  return std::any_of(users.begin(), users.end(), [&](NodeId user) {
    const Node& node = graph.node(user);
    return node.op == OpKind::kConcat &&
           NormalAxis(node.attributes->Int("axis", 0), graph.type(image).rank()) == 1;
  });
}

// Up to so many rows, 0.95 to 1.2 times as fast as oneDNN's; with more, theirs are as fast or
// faster.
constexpr int64_t kFewPixels = 1024;

// Of so few columns a tile has them all: 1.0 to 1.3 times as fast.
constexpr int64_t kFewColumns = 48;

// Whether half a vector is enough for the last columns, which oneDNN's kernels take a whole one
// for.
bool EndsInHalfAVector(int64_t columns) { return columns % 16 >= 1 && columns % 16 <= 8; }

// Whether oneDNN's kernels take longer for the activation than a kernel of its own would: they do
// for all that need an exponential.
bool HasSlowActivation(const Graph& graph, absl::Span<const NodeId> nodes) {
  return std::any_of(nodes.begin(), nodes.end(), [&](NodeId node) {
    return IsOneOf(graph, node,
                   {OpKind::kSwish, OpKind::kSigmoid, OpKind::kTanh, OpKind::kGelu, OpKind::kErf,
                    OpKind::kMish, OpKind::kElu, OpKind::kSoftplus});
  });
}

bool IsWorthMeasuring(const Graph& graph, NodeId conv, TensorId result) {
  const Shape& shape = graph.type(result).shape;
  const bool is_worth = shape[0] * shape[2] * shape[3] <= kFewPixels || shape[1] <= kFewColumns ||
                        EndsInHalfAVector(shape[1]);
  return (is_worth && IsPixelByPixel(graph, conv)) || IsConcatenated(graph, result);
}

bool RunsConvFma(const Graph& graph, NodeId node) {
  return IsFmaConvolution(graph, node) &&
         IsWorthMeasuring(graph, node, graph.node(node).outputs[0]);
}

std::vector<std::vector<NodeId>> GrowConvFma(const Graph& graph, NodeId node) {
  const std::optional<FmaConvolution> normalized = NormalizedConvolutionAt(graph, node);
  if (normalized.has_value()) {
    return GrowEpiloguesBehind(graph, NodesOf(*normalized), normalized->conv);
  }
  if (!IsFmaConvolution(graph, node)) return {};
  std::vector<std::vector<NodeId>> choices;
  for (std::vector<NodeId>& choice : GrowEpilogues(graph, node)) {
    const TensorId result = OutputsOf(graph, choice)[0];
    const bool is_worth = IsWorthMeasuring(graph, node, result) ||
                          (IsPixelByPixel(graph, node) && HasSlowActivation(graph, choice));
    if (is_worth) choices.push_back(std::move(choice));
  }
  return choices;
}

}  // namespace

const FamilyOffer kConvFmaOffer = {
    .name = "conv_fma",
    .runs = RunsConvFma,
    .instruction_set = "avx2",
    .grow = GrowConvFma,
    // Rows are pixels, whose channels lie beside each other in channels-last only.
    .formats = ChannelsLastRow,
    .reads_parts = true,
    .writes_parts = true,
    .expected_share = [](const Kernel&) { return 0.7; },
    .worth_dividing = HasManyFlops,
};

}  // namespace plait
