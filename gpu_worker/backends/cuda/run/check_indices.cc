#include "gpu_worker/backends/cuda/run/check_indices.h"

#include <cstdint>
#include <variant>

#include "gpu_worker/backends/cuda/problem/index_error.h"
#include "gpu_worker/backends/cuda/problem/problem_shape.h"

namespace plait::cuda {

Status CheckIndices(Runtime* runtime, Staging* staging, const Problem& problem,
                    const Operands& operands, Stream stream) {
  const auto* p = std::get_if<MovementProblem>(&problem);
  if (p == nullptr || p->kind != MovementProblem::Kind::kGather || operands.error_word == nullptr) {
    return Ok();
  }
  int64_t word = 0, index = 0;
  PLAIT_CUDA_RETURN_IF_ERROR(staging->Download(&word, operands.error_word, sizeof(word), stream));
  if (word == 0) return Ok();
  PLAIT_CUDA_RETURN_IF_ERROR(runtime->Fill(operands.error_word, 0, sizeof(word), stream));
  // The place is an offset below: what no kernel of ours writes is not followed.
  if (word < 1 || word > ElementCount(p->inputs[1])) {
    return Error{ErrorCode::kInternal, "gather: the error word holds no place"};
  }
  const int64_t place = WrongIndexPlace(word);
  const auto* indices = static_cast<const int64_t*>(operands.inputs[1]);
  PLAIT_CUDA_RETURN_IF_ERROR(staging->Download(&index, indices + place, sizeof(index), stream));
  return IndexError(*p, index, place);
}

}  // namespace plait::cuda
