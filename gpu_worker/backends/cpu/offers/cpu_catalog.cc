#include "gpu_worker/backends/cpu/offers/cpu_catalog.h"

#include <algorithm>
#include <memory>

#include "gpu_worker/backends/cpu/offers/cpu_support.h"
#include "gpu_worker/backends/cpu/offers/elementwise_group.h"
#include "optimizer/kernels/format_rules.h"
#include "optimizer/ops/shared/op_spec.h"

namespace plait {
namespace {

// 16,384 elements take a core about as long as handing work to another one and back, 1 to 2 us.
constexpr int64_t kWideElementsMin = 16384;
// 2^20 operations take a core some 5 us: below that, dividing them gains nothing.
constexpr int64_t kWideFlopsMin = int64_t{1} << 20;

bool WorksInChannelsLast(const Graph& graph, absl::string_view family, NodeId node) {
  const TensorType& input = graph.input_type(node, 0);
  const TensorType& output = graph.output_type(node);
  if (family == "elementwise" || family == "expand") return output.rank() == 4;
  if (family == "conv" && graph.tensor(graph.node(node).inputs[1]).constant == nullptr) {
    return false;  // weights that arrive at run time are read row-major
  }
  if (family == "conv" || family == "pool" || family == "concat" || family == "slice" ||
      family == "pad") {
    return input.rank() == 4 && output.rank() == 4;
  }
  if (family == "reduce") {
    const std::optional<std::vector<int>> axes = ReducedAxes(graph, node);
    return input.rank() == 4 && axes.has_value() && *axes == std::vector<int>({2, 3});
  }
  if (family == "view") {
    return input.rank() == 4 && input.shape == output.shape;
  }
  return false;
}

bool HasFormat(const Kernel& kernel, Format format) {
  const auto has = [&](const std::vector<Format>& formats) {
    return std::find(formats.begin(), formats.end(), format) != formats.end();
  };
  return has(kernel.input_formats) || has(kernel.output_formats);
}

bool IsWorthDividing(const Graph& graph, const Kernel& kernel) {
  if (kernel.family == "view" || kernel.family == "reference") return false;
  Work work;
  int64_t elements = 0;
  for (const NodeId node : kernel.nodes) {
    const Work one = WorkOf(graph, node);
    work.flops += one.flops;
    for (const TensorId output : graph.node(node).outputs) {
      if (output != kNoTensor) elements = std::max(elements, graph.type(output).elements());
    }
    if (graph.node(node).inputs.empty() || graph.node(node).inputs[0] == kNoTensor) continue;
    elements = std::max(elements, graph.input_type(node, 0).elements());
  }
  const bool by_flops =
      kernel.family == "conv" || kernel.family == "matmul" || kernel.family == "attention";
  return by_flops ? work.flops >= kWideFlopsMin : elements >= kWideElementsMin;
}

// Where the nodes of the epilogue may be cut: before an operation that reads another tensor,
// because that tensor may be the one to wait for; and at the end.
std::vector<std::vector<NodeId>> GrowEpilogues(const Graph& graph, NodeId root) {
  std::vector<std::vector<NodeId>> choices;
  std::vector<NodeId> nodes = {root};
  TensorId value = graph.node(root).outputs[0];
  const int channel_axis = ChannelAxisOf(graph, root);
  while (nodes.size() < 8) {
    const std::optional<PostOperation> next = NextPostOperation(graph, value, channel_axis);
    if (!next.has_value()) break;
    const bool reads_tensor =
        next->operand != kNoTensor && graph.tensor(next->operand).constant == nullptr;
    if (reads_tensor && nodes.size() > 1) choices.push_back(nodes);
    nodes.insert(nodes.end(), next->nodes.begin(), next->nodes.end());
    std::sort(nodes.begin(), nodes.end());
    value = next->result;
  }
  if (nodes.size() > 1) choices.push_back(nodes);
  return choices;
}

}  // namespace

void CpuCatalog::AddVariants(const Graph& graph, absl::string_view family,
                             const std::vector<NodeId>& nodes, std::vector<Kernel>* kernels) const {
  for (const Format format : {Format::kPlain, Format::kChannelsLast}) {
    // oneDNN's row-major convolution applies what follows in a pass of its own, or worse.
    const bool only_channels_last =
        family == "conv" && nodes.size() > 1 && WorksInChannelsLast(graph, family, nodes.front());
    if (format == Format::kPlain && only_channels_last) continue;
    if (format == Format::kChannelsLast && !WorksInChannelsLast(graph, family, nodes.front()))
      break;
    Kernel kernel{.family = std::string(family), .nodes = nodes};
    for (const TensorId input : InputsOf(graph, nodes)) {
      kernel.input_formats.push_back(EffectiveFormat(graph.type(input), format));
    }
    for (const TensorId output : OutputsOf(graph, nodes)) {
      kernel.output_formats.push_back(EffectiveFormat(graph.type(output), format));
    }
    // A convolution of one pixel reads and writes the same bytes in both, yet by other code.
    const bool differs = HasFormat(kernel, Format::kChannelsLast) || family == "conv";
    if (format == Format::kChannelsLast && !differs) break;
    if (family == "conv" || family == "pool") kernel.variant = std::string(FormatName(format));
    kernels->push_back(kernel);
    if (device_.threads > 1 && IsWorthDividing(graph, kernel)) {
      kernel.width = device_.threads;
      kernels->push_back(kernel);
    }
  }
}

void CpuCatalog::AddFused(const Graph& graph, NodeId node, absl::string_view family,
                          std::vector<Kernel>* kernels) const {
  if (family == "conv" || family == "matmul") {
    for (const std::vector<NodeId>& nodes : GrowEpilogues(graph, node)) {
      AddVariants(graph, family, nodes, kernels);
    }
  }
  if (family == "elementwise") {
    const std::vector<NodeId> nodes = GrowElementwiseGroup(graph, node);
    if (nodes.size() > 1) AddVariants(graph, family, nodes, kernels);
    const std::vector<NodeId> softmax = GrowSoftmax(graph, node);
    if (softmax.size() > 1) AddVariants(graph, "softmax", softmax, kernels);
  }
}

std::vector<Kernel> CpuCatalog::KernelsAt(const Graph& graph, NodeId node, bool fuse) const {
  std::vector<Kernel> kernels;
  const absl::string_view family = CpuFamilyOf(graph, node);
  AddVariants(graph, family, {node}, &kernels);
  if (fuse) AddFused(graph, node, family, &kernels);
  return kernels;
}

Kernel CpuCatalog::Reorder(const TensorType& type, Format from, Format to) const {
  Kernel kernel{.family = "reorder", .input_formats = {from}, .output_formats = {to}};
  if (type.elements() >= kWideElementsMin) kernel.width = device_.threads;
  return kernel;
}

std::unique_ptr<KernelCatalog> NewCpuCatalog(const DeviceDescription& device) {
  return std::make_unique<CpuCatalog>(device);
}

}  // namespace plait
