#include "gpu_worker/backends/cpu/offers/softmax_pattern.h"

#include "gpu_worker/backends/groups/epilogue.h"
#include "gpu_worker/backends/groups/node_checks.h"

namespace plait {
namespace {

// A mask that is added to rows of the last axis: each of its rows is one row or one element.
bool IsMask(const Graph& graph, TensorId mask, const TensorType& type) {
  const TensorType& mask_type = graph.type(mask);
  if (mask_type.dtype != DataType::kFloat32 || mask_type.rank() > type.rank()) return false;
  return mask_type.rank() > 0 && mask_type.shape.back() == type.shape.back();
}

}  // namespace

bool IsSoftmax(const Graph& graph, NodeId node) {
  return IsOneOf(graph, node, {OpKind::kSoftmax, OpKind::kLogSoftmax}) && AllFloat32(graph, node) &&
         AxisOf(graph, node, -1).has_value();
}

// From the softmax upwards: Softmax(Add(Mul(x, 0.125), mask)) is met as mask, then scale, and what
// remains is x.
std::optional<SoftmaxPattern> ParseSoftmax(const Graph& graph, absl::Span<const NodeId> nodes) {
  if (nodes.empty() || !IsSoftmax(graph, nodes.back())) return std::nullopt;
  SoftmaxPattern pattern{.softmax = nodes.back()};
  pattern.input = graph.node(nodes.back()).inputs[0];
  const TensorType& type = graph.type(pattern.input);
  if (nodes.size() > 1 && AxisOf(graph, nodes.back(), -1) != type.rank() - 1) return std::nullopt;
  for (int i = static_cast<int>(nodes.size()) - 2; i >= 0; --i) {
    const Node& node = graph.node(nodes[i]);
    if (node.outputs.size() != 1 || node.outputs[0] != pattern.input ||
        !graph.has_single_use(pattern.input) || node.inputs.size() != 2) {
      return std::nullopt;
    }
    // The law is x * scale + mask, so the mask is met first on the way up.
    const std::optional<PostOperation> linear = NextPostOperation(graph, node.inputs[0], -1);
    const bool scales = linear.has_value() && linear->kind == PostOperation::Kind::kLinear &&
                        linear->beta == 0 && linear->nodes.front() == nodes[i];
    if (scales && pattern.scale == 1) {
      pattern.scale = linear->alpha;
      pattern.input = node.inputs[0];
    } else if (node.op == OpKind::kAdd && pattern.mask == kNoTensor && pattern.scale == 1 &&
               graph.type(node.inputs[0]) == type && IsMask(graph, node.inputs[1], type)) {
      pattern.input = node.inputs[0];
      pattern.mask = node.inputs[1];
    } else {
      return std::nullopt;
    }
  }
  return pattern;
}

}  // namespace plait
