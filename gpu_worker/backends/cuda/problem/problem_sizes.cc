#include <algorithm>

#include "gpu_worker/backends/cuda/problem/expression.h"
#include "gpu_worker/backends/cuda/problem/problem_shape.h"

// Bytes, strides and the shapes of outputs: what is asked of problems that ShapeOf() has accepted.

namespace plait::cuda {

int64_t ElementBytes(Precision precision) {
  return precision == Precision::kFp16 || precision == Precision::kBf16 ? 2 : 4;
}

int64_t ElementBytes(ElementType type, Precision precision) {
  switch (type) {
    case ElementType::kFloat:
      return ElementBytes(precision);
    case ElementType::kInt64:
      return 8;
    case ElementType::kInt32:
      return 4;
    case ElementType::kInt16:
      return 2;
    case ElementType::kBool:
      return 1;
    case ElementType::kFloat32:
      return 4;
  }
  return 0;
}

ElementType InputType(const Problem& problem, size_t input) {
  if (const auto* p = std::get_if<ElementwiseProblem>(&problem)) {
    return p->input_types.empty() ? ElementType::kFloat : p->input_types[input];
  }
  const auto* p = std::get_if<MovementProblem>(&problem);
  if (p == nullptr) return ElementType::kFloat;
  const bool is_index = p->kind == MovementProblem::Kind::kGather && input == 1;
  return is_index ? ElementType::kInt64 : p->type;
}

ElementType OutputType(const Problem& problem) {
  if (const auto* p = std::get_if<ElementwiseProblem>(&problem)) return p->result_type;
  const auto* p = std::get_if<MovementProblem>(&problem);
  return p == nullptr ? ElementType::kFloat : p->cast_to.value_or(p->type);
}

bool IsOfFloats(const Problem& problem) {
  const auto* p = std::get_if<ElementwiseProblem>(&problem);
  if (p == nullptr) {
    return InputType(problem, 0) == ElementType::kFloat &&
           OutputType(problem) == ElementType::kFloat;
  }
  const Result<Expression> expression = Expression::Of(*p);
  return p->input_types.empty() && expression.ok() && expression.value().is_of_floats();
}

const char* PrecisionName(Precision precision) {
  static constexpr const char* kNames[] = {"strict", "tf32", "fp16", "bf16"};
  return kNames[static_cast<int>(precision)];
}

const char* LayoutName(MemoryLayout layout) {
  return layout == MemoryLayout::kNchw ? "nchw" : "nhwc";
}

int64_t BytesOf(const ProblemShape& shape, const Problem& problem, Precision precision) {
  const auto* movement = std::get_if<MovementProblem>(&problem);
  const int64_t element = ElementBytes(precision);
  const int64_t output_element = ElementBytes(OutputType(problem), precision);
  int64_t bytes =
      (shape.weights + shape.second_weights + shape.bias + shape.second_bias + shape.residual) *
      element;
  for (int64_t output : shape.outputs) bytes += output * output_element;
  // Heads may lie in wider rows, of which the others' numbers are not read.
  if (const auto* p = std::get_if<AttentionProblem>(&problem)) {
    bytes += p->batch * p->heads * (p->query + 2 * p->keys) * p->dim * element;
    return bytes + (p->mask ? shape.inputs[3] : 0) * element;
  }
  // Only the gathered rows are read, as many elements as are written, and 8 bytes for each index.
  if (movement != nullptr && movement->kind == MovementProblem::Kind::kGather) {
    return bytes + shape.outputs[0] * output_element + shape.inputs[1] * 8;
  }
  if (movement != nullptr && movement->kind == MovementProblem::Kind::kSlice) return 2 * bytes;
  for (size_t i = 0; i < shape.inputs.size(); ++i) {
    bytes += shape.inputs[i] * ElementBytes(InputType(problem, i), precision);
  }
  return bytes;
}

int64_t ElementCount(const std::vector<int64_t>& shape) {
  int64_t count = 1;
  for (int64_t size : shape) count *= size;
  return count;
}

std::vector<int64_t> StridesOf(const std::vector<int64_t>& shape, MemoryLayout layout) {
  if (shape.size() == 4 && layout == MemoryLayout::kNhwc) {
    return {shape[1] * shape[2] * shape[3], 1, shape[3] * shape[1], shape[1]};
  }
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * shape[d];
  return strides;
}

AttentionProblem::Strides HeadStrides(const AttentionProblem& p,
                                      const std::optional<AttentionProblem::Strides>& given,
                                      int64_t rows) {
  return given.value_or(AttentionProblem::Strides{p.heads * rows * p.dim, rows * p.dim, p.dim, 1});
}

std::vector<std::vector<int64_t>> OutputShapes(const MovementProblem& p) {
  using Kind = MovementProblem::Kind;
  std::vector<int64_t> shape = p.inputs[0];
  switch (p.kind) {
    case Kind::kCopy:
      return p.inputs;
    case Kind::kTranspose:
      for (size_t d = 0; d < shape.size(); ++d) shape[d] = p.inputs[0][p.permutation[d]];
      return {shape};
    case Kind::kConcat:
      for (size_t i = 1; i < p.inputs.size(); ++i) shape[p.axis] += p.inputs[i][p.axis];
      return {shape};
    case Kind::kSlice: {
      std::vector<std::vector<int64_t>> outputs;
      for (int64_t size : p.sizes) {
        shape[p.axis] = size;
        outputs.push_back(shape);
      }
      return outputs;
    }
    case Kind::kGather:
      shape.erase(shape.begin() + p.axis);
      shape.insert(shape.begin() + p.axis, p.inputs[1].begin(), p.inputs[1].end());
      return {shape};
    case Kind::kPad:
      for (size_t d = 0; d < shape.size(); ++d) {
        shape[d] += p.starts[d] + p.sizes[d];
        if (!p.steps.empty()) shape[d] = (shape[d] + p.steps[d] - 1) / p.steps[d];
      }
      return {shape};
  }
  return {};
}

std::vector<int64_t> WithRank(const std::vector<int64_t>& shape, size_t rank) {
  std::vector<int64_t> full(rank - std::min(rank, shape.size()), 1);
  full.insert(full.end(), shape.begin(), shape.end());
  return full;
}

}  // namespace plait::cuda
