#include "gpu_worker/backends/cpu/offers/cpu_support.h"

#include <algorithm>

#include "gpu_worker/backends/cpu/offers/elementwise_group.h"
#include "optimizer/ops/shared/op_spec.h"

namespace plait {
namespace {

bool IsFloat32(const Graph& graph, TensorId tensor) {
  return tensor != kNoTensor && graph.type(tensor).dtype == DataType::kFloat32;
}

bool AllFloat32(const Graph& graph, const Node& node) {
  const auto fits = [&](TensorId tensor) {
    return tensor == kNoTensor ||
           (graph.type(tensor).dtype == DataType::kFloat32 && graph.type(tensor).elements() > 0);
  };
  return std::all_of(node.inputs.begin(), node.inputs.end(), fits) &&
         std::all_of(node.outputs.begin(), node.outputs.end(), fits);
}

// Convolution and pooling windows: padding is explicit, and never negative.
bool HasExplicitPadding(const Node& node) {
  const std::string auto_pad = node.attributes->String("auto_pad", "NOTSET");
  const std::vector<int64_t> pads = node.attributes->Ints("pads");
  return auto_pad == "NOTSET" &&
         std::all_of(pads.begin(), pads.end(), [](int64_t pad) { return pad >= 0; });
}

bool IsConvolution(const Graph& graph, const Node& node) {
  const int rank = graph.type(node.inputs[0]).rank();
  return AllFloat32(graph, node) && HasExplicitPadding(node) && rank >= 3 && rank <= 5;
}

bool IsGemm(const Graph& graph, const Node& node) {
  const bool has_addend = node.inputs.size() > 2 && node.inputs[2] != kNoTensor;
  if (!AllFloat32(graph, node)) return false;
  // A scaled addend is scaled once at load, which only a constant allows.
  return !has_addend || node.attributes->Float("beta", 1.0f) == 1.0f ||
         graph.tensor(node.inputs[2]).constant != nullptr;
}

bool IsMatMul(const Graph& graph, const Node& node) {
  // A vector on the right would leave the result without the axis that channels run along.
  return AllFloat32(graph, node) && graph.type(node.outputs[0]).rank() <= 6 &&
         graph.type(node.inputs[1]).rank() >= 2 && graph.type(node.inputs[0]).rank() >= 1;
}

bool IsPool(const Graph& graph, const Node& node) {
  const int rank = graph.type(node.inputs[0]).rank();
  if (node.outputs.size() != 1 || !AllFloat32(graph, node) || !HasExplicitPadding(node))
    return false;
  if (rank < 3 || rank > 5) return false;
  const std::vector<int64_t> dilations = node.attributes->Ints("dilations");
  if (std::any_of(dilations.begin(), dilations.end(), [](int64_t d) { return d != 1; }))
    return false;
  const std::vector<int64_t> kernel = node.attributes->Ints("kernel_shape");
  const std::vector<int64_t> pads = node.attributes->Ints("pads");
  for (size_t i = 0; i < pads.size() && kernel.size() * 2 == pads.size(); ++i) {
    if (pads[i] >= kernel[i % kernel.size()]) return false;
  }
  // Rounding up makes windows that hang over the padded input; only oneDNN's maximum and the mean
  // without padding are defined alike there.
  return node.attributes->Int("ceil_mode", 0) == 0 ||
         node.attributes->Int("count_include_pad", 0) == 0;
}

bool IsLayerNormalization(const Graph& graph, const Node& node) {
  const auto omitted = [](TensorId output) { return output == kNoTensor; };
  if (!std::all_of(node.outputs.begin() + 1, node.outputs.end(), omitted)) return false;
  if (!AllFloat32(graph, node)) return false;
  const TensorType& type = graph.type(node.inputs[0]);
  int64_t axis = node.attributes->Int("axis", -1);
  if (axis < 0) axis += type.rank();
  int64_t row = 1;
  for (int i = static_cast<int>(axis); i < type.rank(); ++i) row *= type.shape[i];
  for (size_t i = 1; i < node.inputs.size(); ++i) {
    if (node.inputs[i] != kNoTensor && graph.type(node.inputs[i]).elements() != row) return false;
  }
  return true;
}

// Elements that can be copied without being understood.
bool IsMovable(const Graph& graph, const Node& node) {
  const TensorType& type = graph.type(node.outputs[0]);
  return BytesOf(type.dtype) > 0 && BytesOf(type.dtype) <= 8 && type.elements() > 0 &&
         type.rank() <= 8 && graph.type(node.inputs[0]).elements() > 0;
}

bool HasInlineInputs(const Graph& graph, const Node& node, size_t first) {
  return std::all_of(node.inputs.begin() + first, node.inputs.end(), [&](TensorId input) {
    return input == kNoTensor || (graph.tensor(input).constant != nullptr &&
                                  graph.tensor(input).constant->inline_value() != nullptr);
  });
}

// Without what changes the scores between the two products. A mask's rows are whole rows of scores.
bool IsAttention(const Graph& graph, const Node& node) {
  const Attributes& attributes = *node.attributes;
  if (!AllFloat32(graph, node) || attributes.Int("is_causal", 0) != 0 ||
      attributes.Float("softcap", 0) != 0) {
    return false;
  }
  const auto omitted = [](TensorId tensor) { return tensor == kNoTensor; };
  const size_t inputs_max = std::min<size_t>(node.inputs.size(), 4);
  if (!std::all_of(node.inputs.begin() + inputs_max, node.inputs.end(), omitted)) return false;
  if (!std::all_of(node.outputs.begin() + 1, node.outputs.end(), omitted)) return false;
  if (node.inputs.size() < 4 || node.inputs[3] == kNoTensor) return true;
  const TensorType& key = graph.type(node.inputs[1]);
  const TensorType& mask = graph.type(node.inputs[3]);
  return mask.rank() > 0 && mask.rank() <= 4 && mask.shape.back() == key.shape[key.rank() - 2];
}

bool IsGather(const Graph& graph, const Node& node) {
  const DataType indices = graph.type(node.inputs[1]).dtype;
  return IsMovable(graph, node) && (indices == DataType::kInt64 || indices == DataType::kInt32);
}

bool IsPad(const Graph& graph, const Node& node) {
  if (!IsMovable(graph, node) || !HasInlineInputs(graph, node, 1)) return false;
  if (node.attributes->String("mode", "constant") != "constant") return false;
  const std::vector<int64_t> pads =
      graph.tensor(node.inputs[1]).constant->inline_value()->AsInt64s();
  return std::all_of(pads.begin(), pads.end(), [](int64_t pad) { return pad >= 0; });
}

bool IsReduce(const Graph& graph, NodeId id) {
  if (!IsFloat32(graph, graph.node(id).inputs[0]) || graph.output_type(id).elements() == 0)
    return false;
  if (graph.input_type(id, 0).elements() == 0) return false;
  const std::optional<std::vector<int>> axes = ReducedAxes(graph, id);
  if (!axes.has_value() || axes->empty()) return false;
  // One run of neighbouring axes: the kernel sees [outer, reduced, inner].
  return axes->back() - axes->front() + 1 == static_cast<int>(axes->size());
}

bool IsView(const Graph& graph, const Node& node) {
  const auto omitted = [](TensorId output) { return output == kNoTensor; };
  return HasTraits(node.op, kView) && graph.tensor(node.inputs[0]).constant == nullptr &&
         std::all_of(node.outputs.begin() + 1, node.outputs.end(), omitted) &&
         BytesOf(graph.type(node.outputs[0]).dtype) > 0;
}

std::optional<int> FixedAxis(const Graph& graph, NodeId id, int otherwise) {
  int64_t axis = graph.node(id).attributes->Int("axis", otherwise);
  const int rank = graph.input_type(id, 0).rank();
  if (axis < 0) axis += rank;
  return axis >= 0 && axis < rank ? std::optional<int>(static_cast<int>(axis)) : std::nullopt;
}

bool IsSoftmax(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  return (node.op == OpKind::kSoftmax || node.op == OpKind::kLogSoftmax) &&
         AllFloat32(graph, node) && FixedAxis(graph, id, -1).has_value();
}

// A mask that is added to rows of the last axis: each of its rows is one row or one element.
bool IsMask(const Graph& graph, TensorId mask, const TensorType& type) {
  const TensorType& mask_type = graph.type(mask);
  if (mask_type.dtype != DataType::kFloat32 || mask_type.rank() > type.rank()) return false;
  return mask_type.rank() > 0 && mask_type.shape.back() == type.shape.back();
}

// The family that has the operator; it may still not have every form of it.
absl::string_view FamilyOfOperator(OpKind op) {
  switch (op) {
    case OpKind::kAttention:
      return "attention";
    case OpKind::kConv:
      return "conv";
    case OpKind::kGemm:
    case OpKind::kMatMul:
      return "matmul";
    case OpKind::kAveragePool:
    case OpKind::kMaxPool:
      return "pool";
    case OpKind::kGlobalAveragePool:
    case OpKind::kGlobalMaxPool:
    case OpKind::kReduceMax:
    case OpKind::kReduceMean:
    case OpKind::kReduceMin:
    case OpKind::kReduceSum:
      return "reduce";
    case OpKind::kLogSoftmax:
    case OpKind::kSoftmax:
      return "softmax";
    case OpKind::kLayerNormalization:
      return "layer_norm";
    case OpKind::kTranspose:
      return "transpose";
    case OpKind::kConcat:
      return "concat";
    case OpKind::kSlice:
    case OpKind::kSplit:
      return "slice";
    case OpKind::kGather:
      return "gather";
    case OpKind::kPad:
      return "pad";
    case OpKind::kExpand:
    case OpKind::kTile:
      return "expand";
    default:
      return "reference";
  }
}

bool CanRun(const Graph& graph, NodeId id, absl::string_view family) {
  const Node& node = graph.node(id);
  if (family == "attention") return IsAttention(graph, node);
  if (family == "conv") return IsConvolution(graph, node);
  if (family == "matmul") {
    return node.op == OpKind::kGemm ? IsGemm(graph, node) : IsMatMul(graph, node);
  }
  if (family == "pool") return IsPool(graph, node);
  if (family == "reduce") return IsReduce(graph, id);
  if (family == "softmax") return IsSoftmax(graph, id);
  if (family == "layer_norm") return IsLayerNormalization(graph, node);
  if (family == "gather") return IsGather(graph, node);
  if (family == "pad") return IsPad(graph, node);
  if (node.op == OpKind::kSlice || node.op == OpKind::kTile) {
    return IsMovable(graph, node) && HasInlineInputs(graph, node, 1);
  }
  return IsMovable(graph, node);
}

}  // namespace

absl::string_view CpuFamilyOf(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (node.op == OpKind::kOpaque || node.outputs.empty() || node.outputs[0] == kNoTensor ||
      node.inputs.empty() || node.inputs[0] == kNoTensor) {
    return "reference";
  }
  if (IsElementwise(graph, id)) return "elementwise";
  if (IsView(graph, node)) return "view";
  const absl::string_view family = FamilyOfOperator(node.op);
  return CanRun(graph, id, family) ? family : "reference";
}

int ChannelAxisOf(const Graph& graph, NodeId root) {
  return graph.node(root).op == OpKind::kConv ? 1 : graph.output_type(root).rank() - 1;
}

std::optional<std::vector<int>> ReducedAxes(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const int rank = graph.input_type(id, 0).rank();
  std::vector<int> axes;
  const bool is_global = node.op == OpKind::kGlobalAveragePool || node.op == OpKind::kGlobalMaxPool;
  const bool has_axes = !is_global && node.inputs.size() > 1 && node.inputs[1] != kNoTensor;
  if (!has_axes) {
    if (!is_global && node.attributes->Int("noop_with_empty_axes", 0) != 0) return std::nullopt;
    for (int i = is_global ? 2 : 0; i < rank; ++i) axes.push_back(i);
    return axes;
  }
  const Tensor* value = graph.inline_constant(id, 1);
  if (value == nullptr) return std::nullopt;
  for (const int64_t axis : value->AsInt64s()) {
    axes.push_back(static_cast<int>(axis < 0 ? axis + rank : axis));
  }
  std::sort(axes.begin(), axes.end());
  if (axes.empty() && node.attributes->Int("noop_with_empty_axes", 0) == 0) {
    for (int i = 0; i < rank; ++i) axes.push_back(i);
  }
  return axes;
}

std::optional<SoftmaxPattern> ParseSoftmax(const Graph& graph, absl::Span<const NodeId> nodes) {
  if (nodes.empty() || !IsSoftmax(graph, nodes.back())) return std::nullopt;
  SoftmaxPattern pattern{.softmax = nodes.back()};
  pattern.input = graph.node(nodes.back()).inputs[0];
  const TensorType& type = graph.type(pattern.input);
  if (nodes.size() > 1 && FixedAxis(graph, nodes.back(), -1) != type.rank() - 1)
    return std::nullopt;
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

std::vector<NodeId> GrowSoftmax(const Graph& graph, NodeId node) {
  std::vector<NodeId> nodes = {node};
  while (nodes.size() < 3) {
    if (IsSoftmax(graph, nodes.back())) break;
    const Node& last = graph.node(nodes.back());
    if (last.outputs.size() != 1 || !graph.has_single_use(last.outputs[0])) return {};
    nodes.push_back(graph.users(last.outputs[0])[0]);
  }
  return ParseSoftmax(graph, nodes).has_value() ? nodes : std::vector<NodeId>();
}

}  // namespace plait
