#include "gpu_worker/backends/cpu/offers/fma_convolution.h"

#include <algorithm>

#include "gpu_worker/backends/groups/elementwise_group.h"
#include "gpu_worker/backends/groups/node_checks.h"
#include "gpu_worker/backends/groups/pointwise.h"

namespace plait {
namespace {

// A block of columns has twice as many.
constexpr int64_t kFmaColumnsMin = 16;

}  // namespace

bool IsFmaConvolution(const Graph& graph, NodeId id) {
  return IsImageConvolution(graph, id) && graph.node(id).attributes->Int("group", 1) == 1 &&
         graph.output_type(id).shape[1] >= kFmaColumnsMin;
}

std::optional<FmaConvolution> NormalizedConvolutionAt(const Graph& graph, NodeId id) {
  if (!IsOneOf(graph, id, {OpKind::kBatchNormalization}) || !IsElementwise(graph, id)) {
    return std::nullopt;
  }
  FmaConvolution convolution{.normalization = id};
  TensorId value = graph.node(id).outputs[0];
  convolution.activation = NextPostOperation(graph, value, /*channel_axis=*/1);
  if (convolution.activation.has_value()) {
    if (convolution.activation->kind != PostOperation::Kind::kActivation) return std::nullopt;
    value = convolution.activation->result;
  }
  if (!graph.has_single_use(value) || graph.is_output(value)) return std::nullopt;
  convolution.conv = graph.users(value)[0];
  if (!IsFmaConvolution(graph, convolution.conv) || !IsPixelByPixel(graph, convolution.conv) ||
      graph.node(convolution.conv).inputs[0] != value) {
    return std::nullopt;
  }
  convolution.after.result = graph.node(convolution.conv).outputs[0];
  return convolution;
}

std::vector<NodeId> NodesOf(const FmaConvolution& convolution) {
  std::vector<NodeId> nodes;
  if (convolution.normalization != kNoNode) nodes.push_back(convolution.normalization);
  if (convolution.activation.has_value()) {
    nodes.insert(nodes.end(), convolution.activation->nodes.begin(),
                 convolution.activation->nodes.end());
  }
  nodes.push_back(convolution.conv);
  return nodes;
}

std::optional<FmaConvolution> ParseFmaConvolution(const Graph& graph,
                                                  absl::Span<const NodeId> nodes) {
  if (nodes.empty()) return std::nullopt;
  FmaConvolution convolution{.conv = nodes[0]};
  if (graph.node(nodes[0]).op == OpKind::kBatchNormalization) {
    const std::optional<FmaConvolution> normalized = NormalizedConvolutionAt(graph, nodes[0]);
    if (!normalized.has_value()) return std::nullopt;
    convolution = *normalized;
  } else if (!IsFmaConvolution(graph, nodes[0])) {
    return std::nullopt;
  }
  const std::vector<NodeId> front = NodesOf(convolution);
  if (nodes.size() < front.size() || nodes.first(front.size()) != absl::MakeConstSpan(front)) {
    return std::nullopt;
  }
  const std::optional<Epilogue> after =
      ParseEpilogue(graph, graph.node(convolution.conv).outputs[0], nodes.subspan(front.size()),
                    ChannelAxisOf(graph, convolution.conv));
  if (!after.has_value()) return std::nullopt;
  convolution.after = *after;
  return convolution;
}

}  // namespace plait
