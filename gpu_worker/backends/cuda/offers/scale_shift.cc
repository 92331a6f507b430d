#include <optional>
#include <utility>

#include "gpu_worker/backends/cuda/offers/cuda_family.h"
#include "gpu_worker/backends/cuda/offers/fused_chain.h"
#include "gpu_worker/backends/cuda/offers/operands.h"
#include "gpu_worker/backends/cuda/offers/scale_shift_constants.h"
#include "gpu_worker/backends/groups/node_checks.h"

namespace plait::cuda {
namespace {

// A normalization, or a product and a sum by channels, in front of an activation.
struct ScaleShift {
  size_t nodes = 0;  // that it takes, without the activation
  TensorId input = kNoTensor;
  TensorId result = kNoTensor;
  OperandValue scale;
  OperandValue shift;
};

// The side of a node that has one constant for each channel of `type`; nullopt: neither has.
std::optional<size_t> ChannelSide(const Graph& graph, const Node& node, const TensorType& type) {
  if (node.inputs.size() != 2) return std::nullopt;
  for (const size_t side : {1, 0}) {
    const TensorInfo& info = graph.tensor(node.inputs[side]);
    const int axis = 1 - (type.rank() - info.type.rank());
    if (info.constant == nullptr || axis < 0 || axis >= info.type.rank()) continue;
    const bool has_channels =
        info.type.elements() == type.shape[1] && info.type.shape[axis] == type.shape[1];
    if (has_channels) return side;
  }
  return std::nullopt;
}

std::optional<ScaleShift> ProductAndSumAt(const Graph& graph, NodeId id, const TensorType& type) {
  const Node& product = graph.node(id);
  if (product.op != OpKind::kMul || !graph.has_single_use(product.outputs[0])) return std::nullopt;
  const Node& sum = graph.node(graph.users(product.outputs[0])[0]);
  if (sum.op != OpKind::kAdd || graph.type(sum.outputs[0]) != type) return std::nullopt;
  const std::optional<size_t> scale = ChannelSide(graph, product, type);
  const std::optional<size_t> shift = ChannelSide(graph, sum, type);
  if (!scale.has_value() || !shift.has_value()) return std::nullopt;
  const TensorId input = product.inputs[1 - *scale];
  if (graph.type(input) != type || graph.tensor(input).constant != nullptr) return std::nullopt;
  return ScaleShift{2, input, sum.outputs[0], OperandOf(graph, product.inputs[*scale]),
                    OperandOf(graph, sum.inputs[*shift])};
}

std::optional<ScaleShift> ScaleShiftAt(const Graph& graph, NodeId id) {
  if (!HasEnds(graph, id) || !AllFloat32(graph, id)) return std::nullopt;
  const Node& node = graph.node(id);
  const TensorType& type = graph.output_type(id);
  if (type.rank() < 2) return std::nullopt;
  if (node.op != OpKind::kBatchNormalization) return ProductAndSumAt(graph, id, type);
  std::optional<ScaleShiftConstants> constants = NormalizationAt(graph, id);
  if (!constants.has_value() || !HasOneOutput(node)) return std::nullopt;
  return ScaleShift{1, node.inputs[0], node.outputs[0], OperandOf(std::move(constants->scale)),
                    OperandOf(std::move(constants->shift))};
}

// The activation behind it, if there is one.
std::optional<PostOperation> ActivationBehind(const Graph& graph, const ScaleShift& found) {
  std::optional<PostOperation> next = NextPostOperation(graph, found.result, 1);
  if (!next.has_value() || !ActivationOf(*next).has_value()) return std::nullopt;
  return next;
}

std::vector<NodeId> NodesOf(const Graph& graph, NodeId first, const ScaleShift& found) {
  std::vector<NodeId> nodes = {first};
  if (found.nodes == 2) nodes.push_back(graph.tensor(found.result).producer);
  return nodes;
}

std::vector<std::vector<NodeId>> GroupsOfScaleShift(const Graph& graph, NodeId node) {
  const std::optional<ScaleShift> found = ScaleShiftAt(graph, node);
  if (!found.has_value()) return {};
  std::vector<std::vector<NodeId>> groups = {NodesOf(graph, node, *found)};
  if (const std::optional<PostOperation> activation = ActivationBehind(graph, *found)) {
    groups.push_back(groups.front());
    groups.back().insert(groups.back().end(), activation->nodes.begin(), activation->nodes.end());
  }
  return groups;
}

std::vector<FormatRow> RowsOfScaleShift(const Graph& graph, absl::Span<const NodeId> nodes) {
  if (graph.output_type(nodes.front()).rank() != 4) return PlainRow(graph, nodes);
  return RowsIn(graph, nodes, {Format::kPlain, Format::kChannelsLast});
}

std::optional<KernelProblem> ProblemOfScaleShift(const Graph& graph, const Kernel& kernel) {
  const std::optional<ScaleShift> found = ScaleShiftAt(graph, kernel.nodes.front());
  const std::optional<MemoryLayout> layout = LayoutOf(graph, kernel);
  if (!found.has_value() || !layout.has_value()) return std::nullopt;
  const TensorType& type = graph.type(found->result);
  ScaleShiftProblem problem{.n = type.shape[0], .c = type.shape[1]};
  for (int axis = 2; axis < type.rank(); ++axis) problem.spatial *= type.shape[axis];
  std::vector<NodeId> nodes = NodesOf(graph, kernel.nodes.front(), *found);
  if (nodes != kernel.nodes) {
    const std::optional<PostOperation> activation = ActivationBehind(graph, *found);
    if (!activation.has_value()) return std::nullopt;
    nodes.insert(nodes.end(), activation->nodes.begin(), activation->nodes.end());
    if (nodes != kernel.nodes) return std::nullopt;
    problem.activation = *ActivationOf(*activation);
  }
  return KernelProblem{.problem = problem,
                       .layout = *layout,
                       .inputs = {OperandOf(graph, found->input, *layout)},
                       .weights = found->scale,
                       .bias = found->shift};
}

}  // namespace

const CudaFamily kScaleShiftFamily = {
    .name = "scale_shift",
    .groups = GroupsOfScaleShift,
    .rows = RowsOfScaleShift,
    .problem = ProblemOfScaleShift,
    .takes_parts = true,
};

}  // namespace plait::cuda
