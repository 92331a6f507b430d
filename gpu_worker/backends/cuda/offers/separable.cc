#include "gpu_worker/backends/cuda/offers/convolution.h"
#include "gpu_worker/backends/cuda/offers/cuda_family.h"
#include "gpu_worker/backends/cuda/offers/operands.h"

namespace plait::cuda {
namespace {

// The halves of a separable convolution and what follows each.
struct Halves {
  NodeId depthwise = kNoNode;
  FusedChain between;
  NodeId pointwise = kNoNode;
};

// Whether both halves in one kernel take less time than one after the other. A block of the
// smallest tile (generated/separable.cc) computes 16 pixels of 64 outputs, 32 channels after the
// other, so that many channels of a small image are few blocks that take long. Of 228 of
// nasnet_mobile on an H200, at batch 1, those with fewer than two blocks for a channel took 1.04
// to 5.5 times as long as the halves apart, the others 0.57 to 1.58.
bool MayPay(const ConvProblem& depthwise, const ConvProblem& pointwise) {
  const int64_t pixels = pointwise.output_h() * pointwise.output_w();
  const int64_t blocks = pointwise.n * ((pixels + 15) / 16) * ((pointwise.k + 63) / 64);
  return blocks >= 2 * depthwise.c;
}

// All of the depthwise convolution `id`, whose first half may end in several ways.
std::vector<Halves> HalvesAt(const Graph& graph, NodeId id) {
  const std::optional<ConvProblem> depthwise = ConvolutionAt(graph, id);
  if (!depthwise.has_value() || !depthwise->is_depthwise()) return {};
  std::vector<Halves> found;
  for (FusedChain& between : FusedChains(graph, id, HasBias(graph.node(id)))) {
    const TensorId value = between.result;
    if (between.residual != kNoTensor || !graph.has_single_use(value)) continue;
    const NodeId reader = graph.users(value)[0];
    const std::optional<ConvProblem> pointwise = ConvolutionAt(graph, reader);
    if (!pointwise.has_value() || !pointwise->is_product()) continue;
    if (!MayPay(*depthwise, *pointwise)) continue;
    if (graph.node(reader).inputs[0] != value) continue;
    found.push_back({id, std::move(between), reader});
  }
  return found;
}

// Also with the Relu in front that it alone reads.
std::vector<std::vector<NodeId>> GroupsOfSeparable(const Graph& graph, NodeId node) {
  const NodeId behind = ConvolutionBehind(graph, node);
  std::vector<std::vector<NodeId>> groups;
  for (const Halves& halves : HalvesAt(graph, behind == kNoNode ? node : behind)) {
    std::vector<NodeId> front = {node};
    if (behind != kNoNode) front.push_back(behind);
    front.insert(front.end(), halves.between.nodes.begin(), halves.between.nodes.end());
    for (std::vector<NodeId>& group :
         GrowChains(graph, front, halves.pointwise, HasBias(graph.node(halves.pointwise)))) {
      groups.push_back(std::move(group));
    }
  }
  return groups;
}

std::optional<KernelProblem> ProblemWith(const Graph& graph, const Kernel& kernel, bool has_relu,
                                         const Halves& halves, MemoryLayout layout) {
  absl::Span<const NodeId> rest = absl::MakeConstSpan(kernel.nodes).subspan(has_relu ? 2 : 1);
  const size_t count = halves.between.nodes.size();
  if (rest.size() <= count || rest.subspan(0, count) != absl::MakeConstSpan(halves.between.nodes) ||
      rest[count] != halves.pointwise) {
    return std::nullopt;
  }
  const std::optional<FusedChain> after = ChainOf(
      graph, halves.pointwise, HasBias(graph.node(halves.pointwise)), rest.subspan(count + 1));
  if (!after.has_value()) return std::nullopt;
  SeparableConvProblem problem{*ConvolutionOf(graph, halves.depthwise, halves.between),
                               *ConvolutionOf(graph, halves.pointwise, *after)};
  problem.depthwise.prologue_relu = has_relu;
  const OperandValue weights = WeightsOf(graph, halves.depthwise, layout);
  const OperandValue second_weights = WeightsOf(graph, halves.pointwise, layout);
  if (weights.constant == nullptr || second_weights.constant == nullptr) return std::nullopt;
  return KernelProblem{
      .problem = problem,
      .layout = layout,
      .inputs = {OperandOf(graph, graph.node(kernel.nodes.front()).inputs[0], layout)},
      .weights = weights,
      .second_weights = second_weights,
      .bias = BiasOf(graph, halves.depthwise, halves.between),
      .second_bias = BiasOf(graph, halves.pointwise, *after),
      .residual = OperandOf(graph, after->residual, layout)};
}

std::optional<KernelProblem> ProblemOfSeparable(const Graph& graph, const Kernel& kernel) {
  const NodeId behind = ConvolutionBehind(graph, kernel.nodes.front());
  const bool has_relu = behind != kNoNode && kernel.nodes.size() > 1 && kernel.nodes[1] == behind;
  const std::optional<MemoryLayout> layout = LayoutOf(graph, kernel);
  if (!layout.has_value()) return std::nullopt;
  for (const Halves& halves : HalvesAt(graph, has_relu ? behind : kernel.nodes.front())) {
    std::optional<KernelProblem> problem = ProblemWith(graph, kernel, has_relu, halves, *layout);
    if (problem.has_value()) return problem;
  }
  return std::nullopt;
}

}  // namespace

const CudaFamily kSeparableFamily = {
    .name = "separable",
    .groups = GroupsOfSeparable,
    .rows = ConvolutionRows,
    .problem = ProblemOfSeparable,
    .takes_parts = true,
};

}  // namespace plait::cuda
