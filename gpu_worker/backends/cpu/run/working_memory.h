#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "gpu_worker/backends/cpu/run/memory.h"

namespace plait {

// Memory that holds nothing between runs: activations, and the scratch of kernels. Executables that
// never run at the same time have it in common, as much of it as the largest of them needs: those
// of one model at several shapes, of which each would have as much of its own. What one has written
// is there for the next, whose first run would find pages that nobody has touched; taking those
// costs more than to load a plan. Thread-safe.
class WorkingMemory {
  struct Range;

 public:
  // One executable's share of a slot: bytes of any value, at the same place as those of others.
  // Gives them up when it goes, which may be on any thread, and after the memory that it is of.
  class Share {
   public:
    Share() = default;
    ~Share();
    Share(Share&& other) noexcept;
    Share& operator=(Share&& other) noexcept;

    // All of it. Good for as long as the share.
    MemoryRegion Region() const;
    // No more than so many bytes are needed, as it has turned out.
    void Shrink(int64_t bytes);
    // Takes memory for all of it now (MemoryRegion::Populate).
    void Populate() const { Region().Populate(bytes_); }

   private:
    friend class WorkingMemory;

    std::shared_ptr<Range> range_;
    int64_t bytes_ = 0;
  };

  // Shares of different slots lie apart. A slot begins with address space for `room` bytes, of
  // which those behind all shares take no memory. One that is too small is left to those that have
  // a share of it, and begins anew. REQUIRES: room >= bytes.
  // Errors: ResourceExhausted when the system refuses the range.
  absl::StatusOr<Share> Take(size_t slot, int64_t bytes, int64_t room);

 private:
  absl::Mutex mutex_;
  std::vector<std::shared_ptr<Range>> slots_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace plait
