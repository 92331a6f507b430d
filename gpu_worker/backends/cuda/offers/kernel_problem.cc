#include "gpu_worker/backends/cuda/offers/kernel_problem.h"

#include <algorithm>
#include <utility>

#include "gpu_worker/backends/cuda/offers/cuda_family.h"
#include "gpu_worker/backends/cuda/offers/forms.h"
#include "gpu_worker/backends/cuda/offers/operands.h"
#include "gpu_worker/backends/cuda/problem/problem_shape.h"
#include "optimizer/kernels/format_rules.h"

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

// A kernel of 16 bits as it would be in fp32, whose problem is the same. nullopt: not all that it
// reads and writes is of the precision.
std::optional<Kernel> InFp32(const Graph& graph, Kernel kernel, Precision precision) {
  const auto widen = [&](const std::vector<TensorId>& tensors, std::vector<Format>* formats) {
    if (tensors.size() != formats->size()) return false;
    for (size_t i = 0; i < tensors.size(); ++i) {
      Format& format = (*formats)[i];
      const TensorType& type = graph.type(tensors[i]);
      if (!CanLieIn(type, format)) return false;
      if (ElementIn(precision, type, format) != ElementType::kFloat) return false;
      format = StoredAs(DataType::kFloat32, format);
    }
    return true;
  };
  if (!widen(InputsOf(graph, kernel.nodes), &kernel.input_formats)) return std::nullopt;
  if (!widen(OutputsOf(graph, kernel.nodes), &kernel.output_formats)) return std::nullopt;
  return kernel;
}

void StoreOperandsAs(DataType stored, KernelProblem* problem) {
  const auto store = [&](OperandValue& operand) {
    operand.format = StoredAs(stored, operand.format);
  };
  for (OperandValue& input : problem->inputs) store(input);
  for (OperandValue* operand : {&problem->weights, &problem->second_weights, &problem->bias,
                                &problem->second_bias, &problem->residual}) {
    store(*operand);
  }
}

std::optional<KernelProblem> ProblemIn(Precision precision, const Graph& graph,
                                       const CudaFamily& family, const Kernel& kernel) {
  if (!IsOf16Bits(precision)) return family.problem(graph, kernel);
  if (!family.has_16_bits) return std::nullopt;
  const std::optional<Kernel> in_fp32 = InFp32(graph, kernel, precision);
  if (!in_fp32.has_value()) return std::nullopt;
  std::optional<KernelProblem> problem = family.problem(graph, *in_fp32);
  if (problem.has_value()) StoreOperandsAs(StorageOf(precision), &*problem);
  return problem;
}

}  // namespace

std::optional<KernelProblem> ProblemOfKernel(const Graph& graph, const Kernel& kernel) {
  const CudaFamily* const family = FindCudaFamily(kernel.family);
  const std::optional<Precision> precision = PrecisionOfForm(kernel.variant);
  if (family == nullptr || !precision.has_value() || !AreNodes(graph, kernel.nodes)) {
    return std::nullopt;
  }
  if (*precision == Precision::kTf32 && !family->multiplies) return std::nullopt;
  std::optional<KernelProblem> problem = ProblemIn(*precision, graph, *family, kernel);
  if (!problem.has_value()) return std::nullopt;
  problem->precision = *precision;
  problem->outputs = OutputsOf(graph, kernel.nodes);
  const Result<ProblemShape> shape = ShapeOf(problem->problem);
  if (!shape.ok() || shape.value().outputs.size() != problem->outputs.size()) return std::nullopt;
  return problem;
}

// Images are [n, c, pixels] or [n, pixels, c]. Between equal layouts elements are cast in a row.
std::optional<KernelProblem> ProblemOfReorder(const TensorType& type, const Kernel& reorder) {
  if (reorder.input_formats.size() != 1 || reorder.output_formats.size() != 1) return std::nullopt;
  const Format from = reorder.input_formats[0], to = reorder.output_formats[0];
  if (from == to || !CanLieIn(type, from) || !CanLieIn(type, to)) return std::nullopt;
  const Precision precision = PrecisionOfStorage(IsStoredWhole(type, from) ? to : from, type);
  const bool is_moved_alone = precision == Precision::kStrict;
  const std::optional<ElementType> read =
      is_moved_alone ? MovedAs(type.dtype) : ElementIn(precision, type, from);
  const std::optional<ElementType> written = is_moved_alone ? read : ElementIn(precision, type, to);
  if (!read.has_value() || !written.has_value()) return std::nullopt;
  MovementProblem movement{
      .kind = MovementProblem::Kind::kTranspose, .permutation = {0}, .type = *read};
  movement.inputs = {{type.elements()}};
  if (read != written) movement.cast_to = written;
  const Format layout = StoredAs(DataType::kFloat32, from);
  if (layout != StoredAs(DataType::kFloat32, to)) {
    const int64_t n = type.shape[0], c = type.shape[1], pixels = type.shape[2] * type.shape[3];
    movement.inputs = {layout == Format::kPlain ? std::vector<int64_t>{n, c, pixels}
                                                : std::vector<int64_t>{n, pixels, c}};
    movement.permutation = {0, 2, 1};
  }
  if (!ShapeOf(movement).ok()) return std::nullopt;
  return KernelProblem{.problem = std::move(movement), .precision = precision};
}

}  // namespace plait::cuda
