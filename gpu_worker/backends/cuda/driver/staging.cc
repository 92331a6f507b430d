#include "gpu_worker/backends/cuda/driver/staging.h"

#include <algorithm>
#include <cstring>

namespace plait::cuda {

Result<std::unique_ptr<Staging>> Staging::Make(Runtime* runtime, size_t bytes) {
  const Result<void*> memory = runtime->AllocateHost(bytes);
  if (!memory.ok()) return memory.error();
  return std::unique_ptr<Staging>(
      new Staging(runtime, static_cast<std::byte*>(memory.value()), bytes));
}

// Complaints are nobody's: a device that has failed says so to the next call, too.
Staging::~Staging() {
  static_cast<void>(Drain().ok());
  static_cast<void>(runtime_->FreeHost(memory_).ok());
}

Status Staging::Drain() {
  if (used_ == 0) return Ok();
  PLAIT_CUDA_RETURN_IF_ERROR(runtime_->Synchronize(busy_));
  used_ = 0;
  return Ok();
}

Status Staging::Upload(void* to, const void* from, size_t bytes, Stream stream) {
  // Copies of two streams under way would be two things to wait for.
  if (stream != busy_) PLAIT_CUDA_RETURN_IF_ERROR(Drain());
  busy_ = stream;
  for (size_t done = 0; done < bytes;) {
    if (used_ == bytes_) PLAIT_CUDA_RETURN_IF_ERROR(Drain());
    const size_t piece = std::min(bytes - done, bytes_ - used_);
    std::memcpy(memory_ + used_, static_cast<const std::byte*>(from) + done, piece);
    PLAIT_CUDA_RETURN_IF_ERROR(
        runtime_->CopyToDevice(static_cast<std::byte*>(to) + done, memory_ + used_, piece, stream));
    used_ += piece;
    done += piece;
  }
  return Ok();
}

Status Staging::Download(void* to, const void* from, size_t bytes, Stream stream) {
  PLAIT_CUDA_RETURN_IF_ERROR(Drain());
  for (size_t done = 0; done < bytes;) {
    const size_t piece = std::min(bytes - done, bytes_);
    PLAIT_CUDA_RETURN_IF_ERROR(
        runtime_->CopyToHost(memory_, static_cast<const std::byte*>(from) + done, piece, stream));
    PLAIT_CUDA_RETURN_IF_ERROR(runtime_->Synchronize(stream));
    std::memcpy(static_cast<std::byte*>(to) + done, memory_, piece);
    done += piece;
  }
  return Ok();
}

}  // namespace plait::cuda
