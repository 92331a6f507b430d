#pragma once

#include <cstddef>
#include <memory>

#include "gpu_worker/backends/cuda/driver/result.h"
#include "gpu_worker/backends/cuda/driver/runtime.h"

namespace plait::cuda {

// Pinned host memory through which pageable bytes go to the device and back, in the order of a
// stream. Owns the memory; whoever uploads owns the Staging. Not thread-safe.
// An upload only fills and enqueues, until the memory is full: then it waits for what is under way.
class Staging {
 public:
  // `runtime` is not owned and outlives it. Larger copies than `bytes` go in pieces.
  // REQUIRES: bytes > 0.
  // Errors: those of AllocateHost().
  static Result<std::unique_ptr<Staging>> Make(Runtime* runtime, size_t bytes);
  // Waits for the uploads that are under way.
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  // Enqueues a copy; `from` may be changed when it returns.
  // Errors: kDevice.
  Status Upload(void* to, const void* from, size_t bytes, Stream stream);

  // Copies what `from` holds behind everything that `stream` holds, and waits for it.
  // Errors: kDevice.
  Status Download(void* to, const void* from, size_t bytes, Stream stream);

 private:
  Staging(Runtime* runtime, std::byte* memory, size_t bytes)
      : runtime_(runtime), memory_(memory), bytes_(bytes) {}

  // Waits until no copy reads the memory.
  Status Drain();

  Runtime* const runtime_;
  std::byte* const memory_;
  const size_t bytes_;
  // What the uploads of one stream, `busy_`, may still read.
  size_t used_ = 0;
  Stream busy_ = nullptr;
};

}  // namespace plait::cuda
