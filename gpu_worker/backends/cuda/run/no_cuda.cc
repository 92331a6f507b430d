#include "absl/strings/str_cat.h"
#include "gpu_worker/executor/executor.h"

// What the cuda backend is in a build without the headers that it needs.

namespace plait {

absl::StatusOr<std::unique_ptr<Executor>> OpenCudaExecutor(absl::string_view device_id,
                                                           const ExecutorOptions& /*options*/) {
  return absl::NotFoundError(
      absl::StrCat("device \"", device_id,
                   "\": this build has no cuda backend, for which the headers of CUDA, NVRTC and "
                   "cuDNN are needed"));
}

absl::StatusOr<std::vector<std::string>> CudaDeviceIds() {
  return absl::UnavailableError("this build has no cuda backend");
}

}  // namespace plait
