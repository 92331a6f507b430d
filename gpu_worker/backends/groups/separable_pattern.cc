#include "gpu_worker/backends/groups/separable_pattern.h"

#include <algorithm>

#include "gpu_worker/backends/groups/pointwise.h"

namespace plait {
namespace {

// Vectors hold channels of a pixel: fewer than these would leave most of one unused.
constexpr int64_t kChannelsMin = 8;

}  // namespace

bool IsDepthwise(const Graph& graph, NodeId id) {
  if (!IsImageConvolution(graph, id)) return false;
  const int64_t channels = graph.input_type(id, 0).shape[1];
  return channels >= kChannelsMin && graph.node(id).attributes->Int("group", 1) == channels &&
         graph.output_type(id).shape[1] == channels;
}

std::optional<SeparablePattern> SeparableAt(const Graph& graph, NodeId id) {
  if (!IsDepthwise(graph, id)) return std::nullopt;
  SeparablePattern pattern{.depthwise = id};
  TensorId value = graph.node(id).outputs[0];
  while (const auto next = NextPostOperation(graph, value, ChannelAxisOf(graph, id))) {
    if (ReadsTensor(graph, *next)) return std::nullopt;
    pattern.between.operations.push_back(*next);
    value = next->result;
  }
  pattern.between.result = value;
  if (!graph.has_single_use(value) || graph.is_output(value)) return std::nullopt;
  pattern.pointwise = graph.users(value)[0];
  const Node& pointwise = graph.node(pattern.pointwise);
  if (pointwise.inputs[0] != value || !IsPixelByPixel(graph, pattern.pointwise)) {
    return std::nullopt;
  }
  pattern.after.result = pointwise.outputs[0];
  return pattern;
}

std::vector<NodeId> NodesOf(const SeparablePattern& pattern) {
  std::vector<NodeId> nodes = {pattern.depthwise, pattern.pointwise};
  for (const PostOperation& operation : pattern.between.operations) {
    nodes.insert(nodes.end(), operation.nodes.begin(), operation.nodes.end());
  }
  std::sort(nodes.begin(), nodes.end());
  return nodes;
}

std::optional<SeparablePattern> ParseSeparable(const Graph& graph, absl::Span<const NodeId> nodes) {
  if (nodes.empty()) return std::nullopt;
  std::optional<SeparablePattern> pattern = SeparableAt(graph, nodes[0]);
  if (!pattern.has_value()) return std::nullopt;
  std::vector<NodeId> rest(nodes.begin(), nodes.end());
  for (const NodeId node : NodesOf(*pattern)) {
    const auto found = std::find(rest.begin(), rest.end(), node);
    if (found == rest.end()) return std::nullopt;
    rest.erase(found);
  }
  std::optional<Epilogue> after =
      ParseEpilogue(graph, pattern->after.result, rest, ChannelAxisOf(graph, pattern->pointwise));
  if (!after.has_value()) return std::nullopt;
  pattern->after = *std::move(after);
  return pattern;
}

}  // namespace plait
