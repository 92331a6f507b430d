#include <algorithm>
#include <cmath>

#include "gpu_worker/backends/cuda/problem/shape_checks.h"

namespace plait::cuda {
namespace {

Status CheckFill(const MovementProblem& p) {
  using Fill = MovementProblem::Fill;
  // Integers that a double holds.
  const bool is_whole = p.value == std::trunc(p.value) && std::fabs(p.value) <= 9007199254740992.0;
  if (p.fill == Fill::kValue) {
    if (p.type != ElementType::kFloat && !is_whole) return Invalid("pad: value is not whole");
    return Ok();
  }
  if (!p.steps.empty()) return Invalid("pad: steps, and goes on with the input");
  for (size_t d = 0; d < p.inputs[0].size(); ++d) {
    const auto [least, most] = std::minmax(p.starts[d], p.sizes[d]);
    if (least < 0 || (p.fill == Fill::kReflect && most >= p.inputs[0][d])) {
      return Invalid("pad: takes away, or reflects more than there is");
    }
  }
  return Ok();
}

Status CheckPad(const MovementProblem& p) {
  const auto rank = static_cast<int64_t>(p.inputs[0].size());
  if (static_cast<int64_t>(p.starts.size()) != rank ||
      static_cast<int64_t>(p.sizes.size()) != rank) {
    return Invalid("pad: one number per dimension before and after");
  }
  if (!p.steps.empty() && static_cast<int64_t>(p.steps.size()) != rank) {
    return Invalid("pad: one step per dimension");
  }
  for (const int64_t step : p.steps) {
    if (step < 1 || step > kElementsMax) return Invalid("pad: step out of range");
  }
  for (int64_t d = 0; d < rank; ++d) {
    const int64_t size = p.inputs[0][d];
    if (p.starts[d] < -size || p.sizes[d] < -size || p.starts[d] > kElementsMax ||
        p.sizes[d] > kElementsMax || size + p.starts[d] + p.sizes[d] <= 0) {
      return Invalid("pad: takes all away, or is huge");
    }
  }
  return CheckFill(p);
}

Status CheckCast(const MovementProblem& p) {
  if (!p.cast_to.has_value()) return Ok();
  const auto is_float = [](ElementType type) {
    return type == ElementType::kFloat || type == ElementType::kFloat32;
  };
  const bool are_floats = is_float(p.type) && is_float(*p.cast_to) && p.type != *p.cast_to;
  if (p.kind == MovementProblem::Kind::kTranspose && are_floats) return Ok();
  return Invalid("movement: a transpose alone casts, between floats of two types");
}

Status CheckMovement(const MovementProblem& p) {
  using Kind = MovementProblem::Kind;
  if (p.inputs.empty() || p.inputs.size() > 64) return Invalid("movement: 1 to 64 inputs");
  for (const auto& input : p.inputs) {
    if (!ShapeFits(input)) return Invalid("movement: shape out of range");
  }
  PLAIT_CUDA_RETURN_IF_ERROR(CheckCast(p));
  const auto rank = static_cast<int64_t>(p.inputs[0].size());
  const bool axis_fits = p.axis >= 0 && p.axis < rank;
  switch (p.kind) {
    case Kind::kCopy:
      return Ok();
    case Kind::kTranspose: {
      std::vector<int64_t> sorted = p.permutation;
      std::sort(sorted.begin(), sorted.end());
      for (int64_t d = 0; d < rank; ++d) {
        if (static_cast<int64_t>(sorted.size()) != rank || sorted[d] != d) {
          return Invalid("transpose: not a permutation");
        }
      }
      return Ok();
    }
    case Kind::kConcat:
      if (!axis_fits) return Invalid("concat: axis out of range");
      for (std::vector<int64_t> input : p.inputs) {
        if (static_cast<int64_t>(input.size()) != rank) return Invalid("concat: ranks differ");
        // Made equal along the axis, the shapes have to be equal altogether.
        input[p.axis] = p.inputs[0][p.axis];
        if (input != p.inputs[0]) return Invalid("concat: shapes differ");
      }
      return Ok();
    case Kind::kSlice:
      if (!axis_fits || p.starts.empty() || p.starts.size() != p.sizes.size() ||
          p.starts.size() > 64) {
        return Invalid("slice: axis or number of outputs out of range");
      }
      for (size_t i = 0; i < p.starts.size(); ++i) {
        if (p.starts[i] < 0 || p.sizes[i] <= 0 || p.starts[i] > p.inputs[0][p.axis] - p.sizes[i]) {
          return Invalid("slice: outside of the input");
        }
      }
      return Ok();
    case Kind::kGather:
      if (!axis_fits || p.inputs.size() != 2) return Invalid("gather: data, indices and an axis");
      return Ok();
    case Kind::kPad:
      return CheckPad(p);
  }
  return Invalid("movement: unknown kind");
}

}  // namespace

// The outputs' shapes are formed only after CheckMovement() has bounded every size they add up.
Result<ProblemShape> Shape(const MovementProblem& p) {
  PLAIT_CUDA_RETURN_IF_ERROR(CheckMovement(p));
  ProblemShape shape;
  for (const auto& input : p.inputs) shape.inputs.push_back(ElementCount(input));
  for (const auto& output : OutputShapes(p)) {
    if (!ShapeFits(output)) return Invalid("movement: output too big");
    shape.outputs.push_back(ElementCount(output));
  }
  return shape;
}

}  // namespace plait::cuda
