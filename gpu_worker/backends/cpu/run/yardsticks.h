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

  // Takes some milliseconds. The first call takes the memory that is read, 4 MiB; where there is
  // none, reading is unknown.
  Yardsticks Read();

 private:
  double ReadMultiplyAdds() const;
  double ReadMemory();

  int threads_;
  MemoryRegion memory_;
};

}  // namespace plait
