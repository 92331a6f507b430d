#include "tests/gpu_worker/backends/cuda/offers/problem_check.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "gpu_worker/backends/cuda/problem/expression.h"
#include "gpu_worker/backends/cuda/problem/problem_shape.h"
#include "gpu_worker/backends/cuda/problem/reference_problem.h"
#include "optimizer/kernels/format_rules.h"
#include "optimizer/ops/evaluation/evaluate.h"

namespace plait::cuda {
namespace {

// The rows that a gather chooses from; 0: it is none.
int64_t GatheredRows(const Problem& problem) {
  const auto* move = std::get_if<MovementProblem>(&problem);
  const bool gathers = move != nullptr && move->kind == MovementProblem::Kind::kGather;
  return gathers ? move->inputs[0][move->axis] : 0;
}

bool NeedsPositive(const Problem& problem) {
  const auto* elementwise = std::get_if<ElementwiseProblem>(&problem);
  if (elementwise == nullptr) return false;
  const Result<Expression> expression = Expression::Of(*elementwise);
  return expression.ok() && expression.value().needs_positive_inputs();
}

Tensor RandomTensor(const TensorType& type, const Problem& problem, std::mt19937_64* random) {
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> positive(0.5, 2.0);
  const bool is_positive = NeedsPositive(problem);
  std::vector<double> values(type.elements());
  for (double& value : values) value = is_positive ? positive(*random) : normal(*random);
  // Indices of the rows, or so few that some are equal.
  if (type.dtype == DataType::kInt64 || type.dtype == DataType::kInt32) {
    const int64_t rows = GatheredRows(problem) > 0 ? GatheredRows(problem) : 4;
    for (double& value : values) {
      value = static_cast<double>(static_cast<int64_t>((*random)() % (2 * rows)) - rows);
    }
  }
  if (type.dtype == DataType::kBool) {
    for (double& value : values) value = static_cast<double>((*random)() % 2);
  }
  return Tensor::FromDoubles(type, values);
}

// The row-major place of each element in its order in memory.
std::vector<int64_t> PlacesInMemory(const TensorType& type, Format format) {
  const Shape strides = StridesOf(type, format);
  std::vector<int64_t> places(type.elements());
  for (int64_t i = 0; i < type.elements(); ++i) {
    int64_t rest = i, offset = 0;
    for (int axis = type.rank() - 1; axis >= 0; --axis) {
      offset += rest % type.shape[axis] * strides[axis];
      rest /= type.shape[axis];
    }
    places[offset] = i;
  }
  return places;
}

std::vector<float> InMemory(const Tensor& tensor, Format format) {
  const std::vector<double> numbers = tensor.AsDoubles();
  std::vector<float> values;
  values.reserve(numbers.size());
  for (const int64_t place : PlacesInMemory(tensor.type(), format)) {
    values.push_back(static_cast<float>(numbers[place]));
  }
  return values;
}

class Check {
 public:
  Check(const Graph& graph, const Kernel& kernel, KernelProblem problem)
      : graph_(graph), kernel_(kernel), problem_(std::move(problem)) {}

  absl::StatusOr<double> Run(uint64_t seed) {
    std::mt19937_64 random(seed);
    for (const TensorId input : graph_.inputs()) {
      inputs_.push_back(RandomTensor(graph_.type(input), problem_.problem, &random));
    }
    PLAIT_ASSIGN_OR_RETURN(const std::vector<Tensor> outputs,
                           EvaluateGraph(graph_, inputs_, NoWeights()));
    const Result<ProblemShape> shape = ShapeOf(problem_.problem);
    if (!shape.ok()) return absl::InternalError(shape.error().message);
    PLAIT_RETURN_IF_ERROR(ReadOperands(shape.value()));
    return Compare(shape.value(), outputs);
  }

 private:
  absl::StatusOr<Tensor> ValueOf(const OperandValue& value) const {
    if (value.constant != nullptr) return EvaluateConstant(*value.constant, NoWeights());
    for (size_t i = 0; i < graph_.inputs().size(); ++i) {
      if (graph_.inputs()[i] == value.tensor) return inputs_[i];
    }
    return absl::InternalError("an operand is neither an input nor a constant");
  }

  // What the problem reads of it.
  absl::Status Read(const OperandValue& value, int64_t count, std::vector<float>* numbers) const {
    if (value.present() != (count > 0))
      return absl::InternalError("an operand too many or too few");
    if (count == 0) return absl::OkStatus();
    PLAIT_ASSIGN_OR_RETURN(const Tensor tensor, ValueOf(value));
    *numbers = InMemory(tensor, value.format);
    if (value.offset + count > tensor.elements()) {
      return absl::InternalError(absl::StrCat("an operand of ", tensor.elements(), " elements, of ",
                                              "which ", value.offset, " + ", count, " are read"));
    }
    numbers->erase(numbers->begin(), numbers->begin() + value.offset);
    numbers->resize(count);
    return absl::OkStatus();
  }

  absl::Status ReadOperands(const ProblemShape& shape) {
    if (problem_.inputs.size() != shape.inputs.size()) return absl::InternalError("other inputs");
    operands_.inputs.resize(shape.inputs.size());
    for (size_t i = 0; i < shape.inputs.size(); ++i) {
      if (i == 1 && GatheredRows(problem_.problem) > 0) {
        PLAIT_ASSIGN_OR_RETURN(const Tensor indices, ValueOf(problem_.inputs[i]));
        operands_.indices = indices.AsInt64s();
        continue;
      }
      PLAIT_RETURN_IF_ERROR(Read(problem_.inputs[i], shape.inputs[i], &operands_.inputs[i]));
    }
    PLAIT_RETURN_IF_ERROR(Read(problem_.weights, shape.weights, &operands_.weights));
    PLAIT_RETURN_IF_ERROR(
        Read(problem_.second_weights, shape.second_weights, &operands_.second_weights));
    PLAIT_RETURN_IF_ERROR(Read(problem_.bias, shape.bias, &operands_.bias));
    PLAIT_RETURN_IF_ERROR(Read(problem_.second_bias, shape.second_bias, &operands_.second_bias));
    return Read(problem_.residual, shape.residual, &operands_.residual);
  }

  absl::StatusOr<double> Compare(const ProblemShape& shape, const std::vector<Tensor>& outputs) {
    std::vector<std::vector<float>> wanted;
    for (size_t i = 0; i < outputs.size(); ++i) {
      wanted.push_back(InMemory(outputs[i], kernel_.output_formats[i]));
      if (static_cast<int64_t>(wanted[i].size()) != shape.outputs[i]) {
        return absl::InternalError("an output of another size");
      }
    }
    std::vector<double> errors(outputs.size(), 0), norms(outputs.size(), 0);
    // All elements: whatever the kernel costs, its nodes have been computed too.
    const std::vector<ReferenceElement> elements =
        ComputeReference(problem_.problem, shape, problem_.layout, operands_,
                         std::numeric_limits<int64_t>::max(), 1);
    for (const ReferenceElement& element : elements) {
      const double want = wanted[element.output][element.offset];
      if (std::isnan(want) != std::isnan(element.value)) return absl::InternalError("a NaN");
      if (std::isnan(want) || want == element.value) continue;
      errors[element.output] += (want - element.value) * (want - element.value);
      norms[element.output] += want * want;
    }
    double largest = 0;
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (errors[i] > 0) largest = std::max(largest, std::sqrt(errors[i] / norms[i]));
    }
    return largest;
  }

  const Graph& graph_;
  const Kernel& kernel_;
  const KernelProblem problem_;
  std::vector<Tensor> inputs_;
  HostOperands operands_;
};

}  // namespace

absl::StatusOr<ProblemCheck> CheckKernelProblem(const Graph& graph, const Kernel& kernel,
                                                uint64_t seed, int64_t flops_max) {
  std::optional<KernelProblem> problem = ProblemOfKernel(graph, kernel);
  if (!problem.has_value()) return absl::NotFoundError("no problem");
  ProblemCheck check{.problem = *problem};
  const Result<ProblemShape> shape = ShapeOf(problem->problem);
  if (!shape.ok()) return absl::InternalError(shape.error().message);
  if (shape.value().flops > flops_max) return check;
  PLAIT_ASSIGN_OR_RETURN(check.relative_l2, Check(graph, kernel, *std::move(problem)).Run(seed));
  return check;
}

absl::StatusOr<ProblemCheck> CheckKernelProblemIn(const Graph& graph, const Kernel& kernel,
                                                  uint64_t seed, int64_t flops_max) {
  const Graph own = KernelGraph(graph, kernel.nodes);
  Kernel lone = kernel;
  lone.nodes.resize(own.node_count());
  std::iota(lone.nodes.begin(), lone.nodes.end(), 0);
  return CheckKernelProblem(own, lone, seed, flops_max);
}

}  // namespace plait::cuda
