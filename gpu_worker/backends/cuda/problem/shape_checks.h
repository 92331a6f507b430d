#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "gpu_worker/backends/cuda/driver/result.h"
#include "gpu_worker/backends/cuda/problem/problem.h"
#include "gpu_worker/backends/cuda/problem/problem_shape.h"

// What ShapeOf() asks of the sizes of every problem, and the shapes that are found elsewhere.

namespace plait::cuda {

// Generated kernels hold an element's place in 32 bits.
constexpr int64_t kElementsMax = (int64_t{1} << 31) - 1;

inline Error Invalid(const std::string& what) { return Error{ErrorCode::kInvalid, what}; }

inline bool Positive(std::initializer_list<int64_t> sizes) {
  return std::all_of(sizes.begin(), sizes.end(),
                     [](int64_t size) { return size > 0 && size <= kElementsMax; });
}

// Whether the sizes are positive and their product is small enough for every index we compute.
inline bool ProductFits(std::initializer_list<int64_t> sizes) {
  if (!Positive(sizes)) return false;
  int64_t product = 1;
  for (int64_t size : sizes) {
    product *= size;
    if (product > kElementsMax) return false;
  }
  return true;
}

// 8 dimensions: every one of them is a division and a remainder in a generated kernel.
inline bool ShapeFits(const std::vector<int64_t>& shape) {
  if (shape.size() > 8) return false;
  int64_t product = 1;
  for (int64_t size : shape) {
    if (size <= 0 || size > kElementsMax) return false;
    product *= size;
    if (product > kElementsMax) return false;
  }
  return true;
}

// In movement_shape.cc, program_shape.cc and recurrent_layer.cc.
Result<ProblemShape> Shape(const MovementProblem& p);
Result<ProblemShape> Shape(const RecurrenceProblem& p);
Result<ProblemShape> Shape(const ResizeProblem& p);
Result<ProblemShape> Shape(const RecurrentLayerProblem& p);

}  // namespace plait::cuda
