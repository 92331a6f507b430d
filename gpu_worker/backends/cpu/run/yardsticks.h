#pragma once

#include "gpu_worker/backends/cpu/run/memory.h"
#include "optimizer/cost/yardsticks.h"

namespace plait {

// The fixed pieces of work by which this processor's speed at one time is compared with that at
// another: multiply-adds in registers, and memory that is read after it was dropped from the
// caches. Both by all threads, as the widest kernels run. Not thread-safe: one thread calls, which
// becomes thread 0 of the OpenMP team.
class CpuYardsticks {
 public:
  explicit CpuYardsticks(int threads) : threads_(threads) {}

  // Takes ten milliseconds. The first call takes the memory that is read, 16 MiB; where there is
  // none, both are unknown.
  Yardsticks Read();

 private:
  // In flops and in bytes per microsecond, of one reading.
  double MultiplyAddRate() const;
  double ReadRate() const;
  bool TakeMemory();

  int threads_;
  MemoryRegion memory_;
};

}  // namespace plait
