#include "gpu_worker/simulated_gpu/driver/faults.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <utility>

namespace plait::simulated_gpu {

void Faults::Add(Fault fault) {
  const std::lock_guard<std::mutex> lock(mutex_);
  faults_.push_back(std::move(fault));
}

void Faults::TellEach() {
  const std::lock_guard<std::mutex> lock(mutex_);
  is_told_ = true;
}

CUresult Faults::Begin(const std::string& function, bool needs_context) {
  std::unique_lock<std::mutex> lock(mutex_);
  if (needs_context && sticky_ != CUDA_SUCCESS) return sticky_;
  const auto found = std::find_if(faults_.begin(), faults_.end(),
                                  [&](const Fault& fault) { return fault.function == function; });
  if (found == faults_.end() || found->calls_before-- > 0) return CUDA_SUCCESS;
  const Fault::Kind kind = found->kind;
  faults_.erase(found);
  if (is_told_) {
    const std::chrono::duration<double> now = std::chrono::system_clock::now().time_since_epoch();
    std::fprintf(stderr, "simulated fault: %s at %.3f s\n", function.c_str(), now.count());
  }
  switch (kind) {
    case Fault::Kind::kError:
      return CUDA_ERROR_UNKNOWN;
    case Fault::Kind::kSticky:
      sticky_ = CUDA_ERROR_ILLEGAL_ADDRESS;
      return sticky_;
    case Fault::Kind::kLost:
      sticky_ = CUDA_ERROR_DEVICE_UNAVAILABLE;
      return sticky_;
    case Fault::Kind::kOutOfMemory:
      return CUDA_ERROR_OUT_OF_MEMORY;
    case Fault::Kind::kHang:
      break;
  }
  ++hanging_;
  changed_.wait(lock, [this] { return !may_hang_; });
  --hanging_;
  return CUDA_SUCCESS;
}

void Faults::StopHanging() {
  const std::lock_guard<std::mutex> lock(mutex_);
  may_hang_ = false;
  changed_.notify_all();
}

int Faults::hanging() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return hanging_;
}

}  // namespace plait::simulated_gpu
