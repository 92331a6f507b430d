#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "gpu_worker/backends/cuda/driver/result.h"
#include "gpu_worker/backends/cuda/problem/problem.h"

namespace plait::cuda {

// How many elements each operand of a problem has; 0 where the problem has none. The order of
// `inputs`: conv, pool, rows, scale_shift: x; gemm: a, then b unless it is weights; attention: q,
// k, v, then the mask; gather: data, then int64 indices. Scale and shift of a scale_shift and of a
// layer norm are the weights and the bias.
struct ProblemShape {
  std::vector<int64_t> inputs;
  int64_t weights = 0;
  int64_t second_weights = 0;
  int64_t bias = 0;
  int64_t second_bias = 0;
  int64_t residual = 0;
  std::vector<int64_t> outputs;
  int64_t flops = 0;  // multiplications and additions of the textbook algorithm
};

// Errors: kInvalid for sizes that are not positive, that do not fit together, or beyond 2^31
// elements.
Result<ProblemShape> ShapeOf(const Problem& problem);

// The family that a kernel list calls the problem: "conv", "gemm" ...
const char* ProblemName(const Problem& problem);

// Whether the problem is another one in the other layout: false for those that have no channels,
// such as a gemm.
bool LayoutMatters(const Problem& problem);

int64_t ElementBytes(Precision precision);
const char* PrecisionName(Precision precision);  // "strict", "tf32", "fp16", "bf16"
const char* LayoutName(MemoryLayout layout);     // "nchw", "nhwc"

// What a kernel has to move at least: every input, weight and output once.
int64_t BytesOf(const ProblemShape& shape, const Problem& problem, Precision precision);

int64_t ElementCount(const std::vector<int64_t>& shape);

// The strides, in elements, of a tensor of `shape`: row-major, but for a 4-d one in kNhwc.
std::vector<int64_t> StridesOf(const std::vector<int64_t>& shape, MemoryLayout layout);

// The shapes of a movement's outputs. REQUIRES: ShapeOf() accepts the problem.
std::vector<std::vector<int64_t>> OutputShapes(const MovementProblem& problem);

// `shape` with ones in front until it has `rank` dimensions.
std::vector<int64_t> WithRank(const std::vector<int64_t>& shape, size_t rank);

}  // namespace plait::cuda
