#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "gpu_worker/backends/cuda/driver/owned.h"
#include "gpu_worker/backends/cuda/driver/result.h"

namespace plait::cuda {

// The libraries that a device has loaded. Kernels that were compiled together are one library,
// which is loaded once as long as somebody has it. Thread-safe.
class KernelLibraries {
 public:
  // Not owned; outlives every library.
  explicit KernelLibraries(Runtime* runtime) : runtime_(runtime) {}

  // A cubin, or PTX where the runtime takes that. Errors: those of Runtime::LoadLibrary.
  Result<std::shared_ptr<const OwnedLibrary>> Load(const std::string& code);

 private:
  Runtime* const runtime_;
  std::mutex mutex_;
  std::map<std::string, std::weak_ptr<const OwnedLibrary>> by_code_;
};

}  // namespace plait::cuda
