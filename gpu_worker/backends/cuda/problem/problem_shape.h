#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gpu_worker/backends/cuda/driver/result.h"
#include "gpu_worker/backends/cuda/problem/problem.h"

namespace plait::cuda {

// How many elements each operand of a problem has; 0 where the problem has none. The order of
// `inputs`: conv, pool, rows, scale_shift: x; gemm: a, then b unless it is weights; attention: q,
// k, v, then the mask; gather: data, then int64 indices; recurrent_layer: x, then initial states.
// Scale and shift of a scale_shift and of a norm are the weights and the bias. The counts are what
// a caller allocates: elements, to be multiplied by their types' ElementBytes().
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

// 2^31: kernels compute with 32-bit indices, which are cheaper on the device. The check comes first
// everywhere, so that no other function has to fear sizes from a file. Thread-safe.
// Errors: kInvalid for sizes that are not positive, that do not fit together, or beyond 2^31
// elements.
Result<ProblemShape> ShapeOf(const Problem& problem);

// The family that a kernel list calls the problem: "conv", "gemm" ...
// Stable: kernel lists and profiles have it in files. Never null.
const char* ProblemName(const Problem& problem);

// Whether the problem is another one in the other layout: false for those that have no channels,
// such as a gemm.
// A caller that measures both layouts skips the second where this is false.
bool LayoutMatters(const Problem& problem);

// 4 for kStrict and kTf32, else 2.
int64_t ElementBytes(Precision precision);
// The same for any type: 8, 4 and 1 for int64, int32 and bool.
int64_t ElementBytes(ElementType type, Precision precision);

// What the elements of an input, in the order of ProblemShape, and of every output are.
// REQUIRES: ShapeOf() accepts the problem.
ElementType InputType(const Problem& problem, size_t input);
ElementType OutputType(const Problem& problem);

// Whether all are floats, but for a gather's indices, and what is computed in between too. Trials
// draw no others, and a comparison of rounded numbers may differ from the reference's.
bool IsOfFloats(const Problem& problem);

const char* PrecisionName(Precision precision);  // "strict", "tf32", "fp16", "bf16"
const char* LayoutName(MemoryLayout layout);     // "nchw", "nhwc"

// What a kernel has to move at least: every input, weight and output once.
// Divided by the memory's rate it is the time that no kernel can beat with a cold cache. A gather
// and a slice count the elements they read, not the whole input.
int64_t BytesOf(const ProblemShape& shape, const Problem& problem, Precision precision);

// The product of the sizes; 1 for a scalar's empty shape.
int64_t ElementCount(const std::vector<int64_t>& shape);

// The strides, in elements, of a tensor of `shape`: row-major, but for a 4-d one in kNhwc.
// In the order of `shape`, so {n, c, h, w} in kNhwc has {h*w*c, 1, w*c, c}.
std::vector<int64_t> StridesOf(const std::vector<int64_t>& shape, MemoryLayout layout);

// The mask's [batch, heads, query, keys], with ones where it repeats.
inline std::vector<int64_t> MaskShape(const AttentionProblem& p) {
  return {p.mask_batch ? p.batch : 1, p.mask_heads ? p.heads : 1, p.mask_query ? p.query : 1,
          p.keys};
}

// The strides of an attention's operand of `rows` rows, whether they are given or not.
AttentionProblem::Strides HeadStrides(const AttentionProblem& problem,
                                      const std::optional<AttentionProblem::Strides>& given,
                                      int64_t rows);

// The shapes of a movement's outputs.
// One for each output: as many as inputs for a copy, as `sizes` for a slice, else one.
// REQUIRES: ShapeOf() accepts the problem.
std::vector<std::vector<int64_t>> OutputShapes(const MovementProblem& problem);

// `shape` with ones in front until it has `rank` dimensions.
std::vector<int64_t> WithRank(const std::vector<int64_t>& shape, size_t rank);

}  // namespace plait::cuda
