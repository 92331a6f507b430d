#include "gpu_worker/backends/cuda/problem/candidate.h"

#include <algorithm>
#include <bit>

#include "gpu_worker/backends/cuda/problem/problem_shape.h"

namespace plait::cuda {

bool IsAllowed(const std::vector<std::string>& notes, bool has_products, Precision precision) {
  const auto has = [&notes](const char* note) {
    return std::find(notes.begin(), notes.end(), note) != notes.end();
  };
  if (has("nondeterministic") || has("reduced_precision_reduction")) return false;
  if (precision != Precision::kStrict) return true;
  if (has("unknown_numerical_note")) return false;
  return !has_products || (!has("tensor_core") && !has("down_convert_inputs"));
}

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

bool IsRuntimeCompiled(const Candidate& candidate) {
  const std::vector<std::string> notes = candidate.notes();
  return std::find(notes.begin(), notes.end(), "runtime_compilation") != notes.end();
}

}  // namespace plait::cuda
