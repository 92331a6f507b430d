#include "gpu_worker/backends/cuda/problem/index_error.h"

#include <string>

namespace plait::cuda {
namespace {

int64_t Rows(const MovementProblem& problem) { return problem.inputs[0][problem.axis]; }

}  // namespace

bool IsIndex(const MovementProblem& problem, int64_t index) {
  return index >= -Rows(problem) && index < Rows(problem);
}

int64_t RowOf(const MovementProblem& problem, int64_t index) {
  return index < 0 ? index + Rows(problem) : index;
}

Error IndexError(const MovementProblem& problem, int64_t index, int64_t place) {
  return Error{ErrorCode::kInvalid, "gather: index " + std::to_string(index) + " at place " +
                                        std::to_string(place) + " is not in " +
                                        std::to_string(-Rows(problem)) + ".." +
                                        std::to_string(Rows(problem) - 1)};
}

}  // namespace plait::cuda
