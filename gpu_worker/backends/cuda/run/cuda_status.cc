#include "gpu_worker/backends/cuda/run/cuda_status.h"

#include "absl/strings/match.h"

namespace plait::cuda {

absl::Status ToStatus(const Error& error) {
  switch (error.code) {
    case ErrorCode::kUnsupported:
      return absl::UnimplementedError(error.message);
    case ErrorCode::kInvalid:
      return absl::InvalidArgumentError(error.message);
    case ErrorCode::kUnavailable:
      return absl::UnavailableError(error.message);
    case ErrorCode::kDevice:
      if (absl::StrContains(error.message, "CUDA_ERROR_OUT_OF_MEMORY")) {
        return absl::ResourceExhaustedError(error.message);
      }
      return absl::InternalError(error.message);
    case ErrorCode::kInternal:
      break;
  }
  return absl::InternalError(error.message);
}

}  // namespace plait::cuda
