#include "gpu_worker/backends/cuda/driver/kernel_libraries.h"

namespace plait::cuda {

Result<std::shared_ptr<const OwnedLibrary>> KernelLibraries::Load(const std::string& code) {
  const std::lock_guard lock(mutex_);
  if (const auto known = by_code_.find(code); known != by_code_.end()) {
    if (auto library = known->second.lock(); library != nullptr) return library;
  }
  const Result<Library> loaded = runtime_->LoadLibrary(code);
  if (!loaded.ok()) return loaded.error();
  auto library = std::make_shared<const OwnedLibrary>(runtime_, loaded.value());
  std::erase_if(by_code_, [](const auto& entry) { return entry.second.expired(); });
  by_code_[code] = library;
  return library;
}

}  // namespace plait::cuda
