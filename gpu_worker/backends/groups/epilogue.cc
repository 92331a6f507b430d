#include "gpu_worker/backends/groups/epilogue.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "gpu_worker/backends/groups/elementwise_ops.h"
#include "gpu_worker/backends/groups/node_checks.h"

namespace plait {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// The value of a float constant with one element; nullopt when the tensor is anything else.
std::optional<float> ScalarOf(const Graph& graph, TensorId tensor) {
  const TensorInfo& info = graph.tensor(tensor);
  if (info.constant == nullptr || info.type.dtype != DataType::kFloat32) return std::nullopt;
  const Tensor* value = info.constant->inline_value();
  if (value == nullptr || value->elements() != 1) return std::nullopt;
  return value->at<float>(0);
}

// An operand like [64, 1, 1] for values [1, 64, 56, 56]: shapes are aligned at their ends.
bool IsPerChannel(const TensorType& operand, const TensorType& value, int channel_axis) {
  const int axis = channel_axis - (value.rank() - operand.rank());
  if (operand.rank() > value.rank() || axis < 0) return false;
  for (int i = 0; i < operand.rank(); ++i) {
    if (operand.shape[i] != (i == axis ? value.shape[channel_axis] : 1)) return false;
  }
  return true;
}

// A NaN as a bound means something else to each library, and some know no infinite numbers. Bounds
// that cross give the upper one, min(max(x, low), high), and libraries take no others than that.
std::optional<PostOperation> Bounds(const Graph& graph, const Node& node) {
  PostOperation operation{.op = node.op, .alpha = -kInfinity, .beta = kInfinity};
  for (size_t i = 1; i < node.inputs.size() && i < 3; ++i) {
    if (node.inputs[i] == kNoTensor) continue;
    const std::optional<float> bound = ScalarOf(graph, node.inputs[i]);
    if (!bound.has_value() || std::isnan(*bound)) return std::nullopt;
    (i == 1 ? operation.alpha : operation.beta) = *bound;
  }
  if (operation.alpha == kInfinity || operation.beta == -kInfinity) return std::nullopt;
  operation.alpha = std::min(operation.alpha, operation.beta);
  return operation;
}

// Clip by its bounds; all others by the table, whose `follows` says that oneDNN has them.
std::optional<PostOperation> Activation(const Graph& graph, const Node& node) {
  if (node.op == OpKind::kClip) return Bounds(graph, node);
  const std::optional<ElementwiseOp> op = FindElementwiseOp(node.op);
  if (!op.has_value() || !op->follows) return std::nullopt;
  const UnaryParameters parameters = UnaryParametersOf(node);
  return PostOperation{.op = node.op, .alpha = parameters.alpha, .beta = parameters.beta};
}

// x + c, c + x, x - c, x * c, c * x and x / c for a scalar constant c.
std::optional<PostOperation> Linear(const Graph& graph, const Node& node, TensorId value) {
  const bool value_first = node.inputs[0] == value;
  const std::optional<float> scalar = ScalarOf(graph, node.inputs[value_first ? 1 : 0]);
  if (!scalar.has_value() || !std::isfinite(*scalar)) return std::nullopt;
  PostOperation operation{.kind = PostOperation::Kind::kLinear, .op = node.op, .alpha = 1};
  switch (node.op) {
    case OpKind::kAdd:
      operation.beta = *scalar;
      return operation;
    case OpKind::kSub:
      operation.alpha = value_first ? 1.0f : -1.0f;
      operation.beta = value_first ? -*scalar : *scalar;
      return operation;
    case OpKind::kMul:
      operation.alpha = *scalar;
      return operation;
    case OpKind::kDiv:
      // Reciprocals beyond are infinite, or denormal.
      if (!value_first || !(std::abs(*scalar) > 1e-30f && std::abs(*scalar) < 1e30f)) {
        return std::nullopt;
      }
      operation.alpha = 1.0f / *scalar;
      return operation;
    default:
      return std::nullopt;
  }
}

std::optional<PostOperation> Binary(const Graph& graph, const Node& node, TensorId value,
                                    int channel_axis) {
  if (node.inputs.size() != 2 || node.inputs[0] == node.inputs[1]) return std::nullopt;
  if (std::optional<PostOperation> linear = Linear(graph, node, value)) return linear;
  const TensorId operand = node.inputs[node.inputs[0] == value ? 1 : 0];
  const TensorType& type = graph.type(operand);
  if (type.dtype != DataType::kFloat32) return std::nullopt;
  PostOperation operation{.op = node.op, .operand = operand};
  const bool is_constant = graph.tensor(operand).constant != nullptr;
  if (node.op == OpKind::kAdd && is_constant &&
      IsPerChannel(type, graph.type(value), channel_axis)) {
    operation.kind = PostOperation::Kind::kAddChannel;
    return operation;
  }
  // Constants lie row-major, whatever the format of the result.
  if (is_constant || type.shape != graph.type(value).shape) return std::nullopt;
  if (node.op == OpKind::kAdd) {
    operation.kind = PostOperation::Kind::kAddTensor;
    return operation;
  }
  if (node.op == OpKind::kMul) {
    operation.kind = PostOperation::Kind::kMulTensor;
    return operation;
  }
  return std::nullopt;
}

bool IsOneSixthHardSigmoid(const Node& node) {
  return node.op == OpKind::kHardSigmoid &&
         std::abs(node.attributes->Float("alpha", 0.2f) - 1.0f / 6.0f) < 1e-6f &&
         node.attributes->Float("beta", 0.5f) == 0.5f;
}

// x * Sigmoid(x) is Swish, x * HardSigmoid(x; 1/6, 1/2) is HardSwish: two nodes that both read x.
std::optional<PostOperation> GatedActivation(const Graph& graph, TensorId value) {
  const absl::Span<const NodeId> users = graph.users(value);
  const Node& gate = graph.node(users[0]);
  const Node& product = graph.node(users[1]);
  const bool is_swish = gate.op == OpKind::kSigmoid;
  if (!is_swish && !IsOneSixthHardSigmoid(gate)) return std::nullopt;
  if (product.op != OpKind::kMul || !graph.has_single_use(gate.outputs[0])) return std::nullopt;
  const bool reads_both = (product.inputs[0] == value && product.inputs[1] == gate.outputs[0]) ||
                          (product.inputs[1] == value && product.inputs[0] == gate.outputs[0]);
  if (!reads_both) return std::nullopt;
  return PostOperation{.op = is_swish ? OpKind::kSwish : OpKind::kHardSwish,
                       .alpha = 1,
                       .nodes = {users[0], users[1]},
                       .result = product.outputs[0]};
}

// The algorithms of oneDNN with parameters that an operation is made of, as bits.
uint32_t AlgorithmsOf(const PostOperation& operation) {
  constexpr uint32_t kLine = 1;
  constexpr uint32_t kBounds = 2;
  if (operation.kind == PostOperation::Kind::kLinear) return kLine;
  if (operation.kind != PostOperation::Kind::kActivation) return 0;
  switch (operation.op) {
    case OpKind::kHardSigmoid:
      return kLine | kBounds;
    case OpKind::kClip:
      return kBounds;
    case OpKind::kRelu:
    case OpKind::kLeakyRelu:
      return 4;
    case OpKind::kElu:
      return 8;
    case OpKind::kSwish:
      return 16;
    default:
      return 0;
  }
}

// oneDNN 2.6 gives all operations of one algorithm the parameters of the first of them: of
// x / 2 * 4 it makes x / 2 / 2. So a second one with others is not applied with it.
bool MayFollow(absl::Span<const PostOperation> before, const PostOperation& operation) {
  return std::none_of(before.begin(), before.end(), [&](const PostOperation& other) {
    const bool is_equal = other.kind == operation.kind && other.op == operation.op &&
                          other.alpha == operation.alpha && other.beta == operation.beta;
    return !is_equal && (AlgorithmsOf(other) & AlgorithmsOf(operation)) != 0;
  });
}

// What is applied to the value before anything that follows it: the factor of a Gemm.
std::vector<PostOperation> OwnOperations(const Graph& graph, TensorId value) {
  const NodeId root = graph.tensor(value).producer;
  if (root == kNoNode || graph.node(root).op != OpKind::kGemm) return {};
  const float alpha = graph.node(root).attributes->Float("alpha", 1);
  if (alpha == 1) return {};
  return {{.kind = PostOperation::Kind::kLinear, .op = OpKind::kMul, .alpha = alpha}};
}

// A set takes at most this many nodes: a longer epilogue is no longer hidden behind its root.
constexpr size_t kNodesMax = 8;

}  // namespace

int ChannelAxisOf(const Graph& graph, NodeId root) {
  const bool is_image = IsOneOf(
      graph, root, {OpKind::kConv, OpKind::kConvTranspose, OpKind::kAveragePool, OpKind::kMaxPool});
  return is_image ? 1 : graph.output_type(root).rank() - 1;
}

// The value must have no other reader, as it is never written to memory; a gate, whose two nodes
// read it both, is the exception and is taken whole.
std::optional<PostOperation> NextPostOperation(const Graph& graph, TensorId value,
                                               int channel_axis) {
  const absl::Span<const NodeId> users = graph.users(value);
  if (graph.is_output(value) || graph.type(value).dtype != DataType::kFloat32) return std::nullopt;
  if (users.size() == 2) return GatedActivation(graph, value);
  if (!graph.has_single_use(value)) return std::nullopt;
  const Node& node = graph.node(users[0]);
  if (node.outputs.size() != 1 || graph.type(node.outputs[0]) != graph.type(value)) {
    return std::nullopt;
  }
  std::optional<PostOperation> operation;
  if (node.inputs[0] == value) operation = Activation(graph, node);
  if (!operation.has_value()) operation = Binary(graph, node, value, channel_axis);
  if (!operation.has_value()) return std::nullopt;
  operation->nodes = {users[0]};
  operation->result = node.outputs[0];
  return operation;
}

bool ReadsTensor(const Graph& graph, const PostOperation& operation) {
  return operation.operand != kNoTensor && graph.tensor(operation.operand).constant == nullptr;
}

std::optional<Epilogue> ParseEpilogue(const Graph& graph, TensorId value,
                                      absl::Span<const NodeId> rest, int channel_axis) {
  Epilogue epilogue{.result = value};
  std::vector<PostOperation> before = OwnOperations(graph, value);
  size_t taken = 0;
  while (taken < rest.size()) {
    const std::optional<PostOperation> next =
        NextPostOperation(graph, epilogue.result, channel_axis);
    if (!next.has_value() || !MayFollow(before, *next)) return std::nullopt;
    for (const NodeId node : next->nodes) {
      if (std::find(rest.begin(), rest.end(), node) == rest.end()) return std::nullopt;
    }
    taken += next->nodes.size();
    epilogue.result = next->result;
    epilogue.operations.push_back(*next);
    before.push_back(*next);
  }
  return epilogue;
}

// Conv, Relu, Add of a residual, Relu gives [Conv, Relu] and all four. The first is offered because
// reading the residual in the epilogue may make the root wait for it; where nothing but the value
// is read, more is always better.
std::vector<std::vector<NodeId>> GrowEpilogues(const Graph& graph, NodeId root) {
  std::vector<std::vector<NodeId>> choices;
  std::vector<NodeId> nodes = {root};
  TensorId value = graph.node(root).outputs[0];
  std::vector<PostOperation> before = OwnOperations(graph, value);
  const int channel_axis = ChannelAxisOf(graph, root);
  while (nodes.size() < kNodesMax) {
    const std::optional<PostOperation> next = NextPostOperation(graph, value, channel_axis);
    if (!next.has_value() || !MayFollow(before, *next)) break;
    before.push_back(*next);
    if (ReadsTensor(graph, *next) && nodes.size() > 1) choices.push_back(nodes);
    nodes.insert(nodes.end(), next->nodes.begin(), next->nodes.end());
    std::sort(nodes.begin(), nodes.end());
    value = next->result;
  }
  if (nodes.size() > 1) choices.push_back(nodes);
  return choices;
}

std::vector<std::vector<NodeId>> GrowEpiloguesBehind(const Graph& graph,
                                                     const std::vector<NodeId>& front,
                                                     NodeId root) {
  std::vector<std::vector<NodeId>> choices;
  const std::optional<PostOperation> next =
      NextPostOperation(graph, graph.node(root).outputs[0], ChannelAxisOf(graph, root));
  if (!next.has_value() || ReadsTensor(graph, *next)) choices.push_back(front);
  for (const std::vector<NodeId>& longer : GrowEpilogues(graph, root)) {
    std::vector<NodeId>& choice = choices.emplace_back(front);
    choice.insert(choice.end(), longer.begin() + 1, longer.end());
    std::sort(choice.begin(), choice.end());
  }
  return choices;
}

}  // namespace plait
