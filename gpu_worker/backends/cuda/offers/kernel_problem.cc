#include "gpu_worker/backends/cuda/offers/kernel_problem.h"

#include <algorithm>
#include <utility>

#include "gpu_worker/backends/cuda/offers/cuda_family.h"
#include "gpu_worker/backends/cuda/offers/forms.h"
#include "gpu_worker/backends/cuda/offers/operands.h"
#include "gpu_worker/backends/cuda/problem/problem_shape.h"

namespace plait::cuda {
namespace {

// Ascending ids of the graph, none of them opaque.
bool AreNodes(const Graph& graph, const std::vector<NodeId>& nodes) {
  if (nodes.empty() || !graph.has_node(nodes.front()) || !graph.has_node(nodes.back()))
    return false;
  for (size_t i = 1; i < nodes.size(); ++i) {
    if (nodes[i - 1] >= nodes[i]) return false;
  }
  return std::none_of(nodes.begin(), nodes.end(), [&](NodeId node) {
    return graph.node(node).op == OpKind::kOpaque || graph.node(node).inputs.empty();
  });
}

}  // namespace

std::optional<KernelProblem> ProblemOfKernel(const Graph& graph, const Kernel& kernel) {
  const CudaFamily* const family = FindCudaFamily(kernel.family);
  const std::optional<Precision> precision = PrecisionOfForm(kernel.variant);
  if (family == nullptr || !precision.has_value() || !AreNodes(graph, kernel.nodes)) {
    return std::nullopt;
  }
  if (*precision != Precision::kStrict && !family->multiplies) return std::nullopt;
  std::optional<KernelProblem> problem = family->problem(graph, kernel);
  if (!problem.has_value()) return std::nullopt;
  problem->precision = *precision;
  problem->outputs = OutputsOf(graph, kernel.nodes);
  const Result<ProblemShape> shape = ShapeOf(problem->problem);
  if (!shape.ok() || shape.value().outputs.size() != problem->outputs.size()) return std::nullopt;
  return problem;
}

// Images are [n, c, pixels] or [n, pixels, c].
std::optional<KernelProblem> ProblemOfReorder(const TensorType& type, const Kernel& reorder) {
  if (reorder.input_formats.size() != 1 || reorder.output_formats.size() != 1) return std::nullopt;
  const std::optional<ElementType> moved_as = MovedAs(type.dtype);
  if (type.rank() != 4 || !moved_as.has_value()) return std::nullopt;
  const Format from = reorder.input_formats[0];
  const bool is_known = (from == Format::kPlain || from == Format::kChannelsLast) &&
                        (reorder.output_formats[0] == Format::kPlain ||
                         reorder.output_formats[0] == Format::kChannelsLast);
  if (!is_known || from == reorder.output_formats[0]) return std::nullopt;
  const int64_t n = type.shape[0], c = type.shape[1], pixels = type.shape[2] * type.shape[3];
  MovementProblem movement{
      .kind = MovementProblem::Kind::kTranspose, .permutation = {0, 2, 1}, .type = *moved_as};
  movement.inputs = {from == Format::kPlain ? std::vector<int64_t>{n, c, pixels}
                                            : std::vector<int64_t>{n, pixels, c}};
  if (!ShapeOf(movement).ok()) return std::nullopt;
  return KernelProblem{.problem = std::move(movement)};
}

}  // namespace plait::cuda
