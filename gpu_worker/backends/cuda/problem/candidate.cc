#include "gpu_worker/backends/cuda/problem/candidate.h"

#include <bit>

#include "gpu_worker/backends/cuda/problem/problem_shape.h"

namespace plait::cuda {

Status CheckAlignment(const OperandAlignment& alignment, Precision precision) {
  for (const int64_t bytes : {alignment.inputs, alignment.weights, alignment.bias,
                              alignment.residual, alignment.outputs}) {
    if (bytes < ElementBytes(precision) || !std::has_single_bit(static_cast<uint64_t>(bytes))) {
      return Error{ErrorCode::kInvalid,
                   "operands cannot be aligned to " + std::to_string(bytes) + " bytes"};
    }
  }
  return Ok();
}

}  // namespace plait::cuda
