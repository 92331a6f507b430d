#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "gpu_worker/backends/cuda/driver/clock_watch.h"
#include "gpu_worker/backends/cuda/driver/owned.h"
#include "gpu_worker/backends/cuda/driver/result.h"
#include "gpu_worker/backends/cuda/driver/runtime.h"
#include "gpu_worker/backends/cuda/driver/staging.h"
#include "gpu_worker/backends/cuda/problem/candidate.h"
#include "gpu_worker/backends/cuda/problem/problem.h"
#include "gpu_worker/backends/cuda/run/check_indices.h"

namespace plait::cuda {

// The probe kernels of the constants: those of probe_kernels.cc, or fakes.
struct ProbeKernels {
  Kernel empty = nullptr;  // ()
  Kernel spin = nullptr;   // (long long clock cycles)
  Kernel read = nullptr;   // (const float4* data, long long count, long long rounds, float* sink)
  Kernel producer = nullptr;  // (long long cycles): lets its dependents start early, then works
  Kernel consumer = nullptr;  // (long long cycles): works as long before it waits as after
};

// What every sub-command works with: a device, real or fake, a stream, and memory. Not thread-safe.
class Session {
 public:
  // Opens device 0, or the fake one. Errors: kUnavailable without a driver or device.
  static Result<std::unique_ptr<Session>> Open(bool fake);
  ~Session() = default;
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  Runtime& runtime() { return *runtime_; }
  Stream stream() const { return stream_.get(); }
  const DeviceFacts& facts() const { return facts_; }
  const CudaDevice& description() const { return description_; }
  const ProbeKernels& probes() const { return probes_; }
  // Nobody else reads it: what it has seen is of this session's samples.
  ClockWatch& clock() { return *clock_; }
  bool fake() const { return fake_; }
  // Name, driver, runtime and library versions: what a profile depends on.
  const std::string& fingerprint() const { return fingerprint_; }

  struct Listing {
    std::vector<std::unique_ptr<Candidate>> candidates;
    std::vector<std::string> errors;  // of the sources that failed
  };
  // The candidates of every source; of the fake one only, if the session is fake.
  Listing Enumerate(const Problem& problem, Precision precision, MemoryLayout layout);

  // Memory that Release() gives back all at once down to a mark. 256-byte aligned. Errors:
  // kUnavailable when there is not enough.
  Result<void*> Take(size_t bytes);
  size_t mark() const { return used_; }
  void Release(size_t mark) { used_ = mark; }
  // The owner of all of it: graphs that launch with it keep it.
  std::shared_ptr<const void> memory() const { return memory_; }
  size_t free_bytes() const { return size_ - used_; }

  // Copy on the session's stream: what is launched there later reads what was uploaded. Upload()
  // only enqueues, Download() waits. Errors: kDevice.
  Status Upload(void* to, const void* from, size_t bytes) {
    return staging_->Upload(to, from, bytes, stream());
  }
  Status Download(void* to, const void* from, size_t bytes) {
    return staging_->Download(to, from, bytes, stream());
  }

  // Waits, and tells whether a gather that was launched had indices in range. Errors: kInvalid for
  // an index that was not; kDevice.
  Status CheckIndices(const Problem& problem, const Operands& operands) {
    return cuda::CheckIndices(runtime_.get(), staging_.get(), problem, operands, stream());
  }

  // Enqueues writing more than the L2 holds, so that whatever was there is gone.
  Status FlushL2();

 private:
  Session() = default;
  Status OpenMemory();

  // Of the members below the last ones go first.
  std::unique_ptr<Runtime> runtime_;
  bool fake_ = false;
  DeviceFacts facts_;
  std::unique_ptr<ClockWatch> clock_;
  CudaDevice description_;
  std::string fingerprint_;
  OwnedLibrary probe_library_;  // null for the fake
  ProbeKernels probes_;
  std::function<Listing(const Problem&, Precision, MemoryLayout)> enumerate_;
  OwnedStream stream_;
  std::unique_ptr<Staging> staging_;
  std::shared_ptr<const OwnedMemory> memory_;
  size_t size_ = 0, used_ = 0;
  OwnedMemory flush_;
  size_t flush_bytes_ = 0;
};

}  // namespace plait::cuda
