#include "gpu_worker/backends/cuda/offers/convolution.h"
#include "gpu_worker/backends/cuda/offers/cuda_family.h"
#include "gpu_worker/backends/cuda/offers/operands.h"

namespace plait::cuda {
namespace {

// Also with the Relu in front that it alone reads.
std::vector<std::vector<NodeId>> GroupsOfConv(const Graph& graph, NodeId node) {
  std::vector<NodeId> front;
  NodeId conv = ConvolutionBehind(graph, node);
  if (conv == kNoNode) {
    conv = node;
  } else {
    front = {node};
  }
  if (!ConvolutionAt(graph, conv).has_value()) return {};
  return GrowChains(graph, front, conv, HasBias(graph.node(conv)));
}

std::optional<KernelProblem> ProblemOfConv(const Graph& graph, const Kernel& kernel) {
  const NodeId first = kernel.nodes.front();
  const NodeId behind = ConvolutionBehind(graph, first);
  const bool has_relu = behind != kNoNode && kernel.nodes.size() > 1 && kernel.nodes[1] == behind;
  const NodeId conv = has_relu ? behind : first;
  if (!ConvolutionAt(graph, conv).has_value()) return std::nullopt;
  const std::optional<FusedChain> chain =
      ChainOf(graph, conv, HasBias(graph.node(conv)),
              absl::MakeConstSpan(kernel.nodes).subspan(has_relu ? 2 : 1));
  const std::optional<MemoryLayout> layout = LayoutOf(graph, kernel);
  if (!chain.has_value() || !layout.has_value()) return std::nullopt;
  std::optional<ConvProblem> problem = ConvolutionOf(graph, conv, *chain);
  problem->prologue_relu = has_relu;
  const OperandValue weights = WeightsOf(graph, conv, *layout);
  if (weights.tensor != kNoTensor && weights.format != Format::kPlain) return std::nullopt;
  return KernelProblem{.problem = *problem,
                       .layout = *layout,
                       .inputs = {OperandOf(graph, graph.node(first).inputs[0], *layout)},
                       .weights = weights,
                       .bias = BiasOf(graph, conv, *chain),
                       .residual = OperandOf(graph, chain->residual, *layout)};
}

}  // namespace

const CudaFamily kConvFamily = {
    .name = "conv",
    .groups = GroupsOfConv,
    .rows = ConvolutionRows,
    .problem = ProblemOfConv,
    .multiplies = true,
    .has_16_bits = true,
    .takes_parts = true,
};

}  // namespace plait::cuda
