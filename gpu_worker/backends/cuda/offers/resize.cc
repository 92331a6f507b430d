#include <utility>

#include "gpu_worker/backends/cuda/offers/cuda_family.h"
#include "gpu_worker/backends/cuda/offers/operands.h"
#include "gpu_worker/backends/groups/format_rows.h"
#include "gpu_worker/backends/groups/resized_image.h"
#include "optimizer/ops/shared/resizing.h"

namespace plait::cuda {
namespace {

ResizeProblem::Axis AxisOf(const Resizing& resizing, size_t axis) {
  const AxisTaps taps = TapsOf(resizing.resampling, resizing.axes[axis]);
  return {.input = resizing.axes[axis].input,
          .taps = taps.count,
          .elements = taps.elements,
          .weights = {taps.weights.begin(), taps.weights.end()}};
}

std::vector<std::vector<NodeId>> GroupsOfResize(const Graph& graph, NodeId node) {
  if (!IsResizedImage(graph, node)) return {};
  return {{node}};
}

std::vector<FormatRow> RowsOfResize(const Graph& graph, absl::Span<const NodeId> nodes) {
  return RowsIn(graph, nodes, {Format::kPlain, Format::kChannelsLast});
}

std::optional<KernelProblem> ProblemOfResize(const Graph& graph, const Kernel& kernel) {
  const NodeId node = kernel.nodes[0];
  const std::optional<MemoryLayout> layout = LayoutOf(graph, kernel);
  if (kernel.nodes.size() != 1 || !layout.has_value() || !IsResizedImage(graph, node)) {
    return std::nullopt;
  }
  const absl::StatusOr<Resizing> resizing = ReadResizing(graph, node);
  if (!resizing.ok()) return std::nullopt;
  const Shape& input = graph.input_type(node, 0).shape;
  ResizeProblem problem{
      .n = input[0], .c = input[1], .rows = AxisOf(*resizing, 2), .columns = AxisOf(*resizing, 3)};
  return KernelProblem{.problem = std::move(problem),
                       .layout = *layout,
                       .inputs = {OperandOf(graph, graph.node(node).inputs[0], *layout)}};
}

}  // namespace

const CudaFamily kResizeFamily = {
    .name = "resize",
    .groups = GroupsOfResize,
    .rows = RowsOfResize,
    .problem = ProblemOfResize,
    .takes_parts = true,
};

}  // namespace plait::cuda
