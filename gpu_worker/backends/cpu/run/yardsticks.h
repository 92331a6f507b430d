#pragma once

#include "gpu_worker/backends/cpu/run/memory.h"
#include "gpu_worker/backends/cpu/team/team.h"
#include "optimizer/cost/yardsticks.h"

namespace plait {

// The fixed pieces of work by which this processor's speed at one time is compared with that at
// another: multiply-adds in registers, and memory that is read after it was dropped from the
// caches. Both by all threads, as the widest kernels run. Not thread-safe.
class CpuYardsticks {
 public:
  // The team outlives the object.
  explicit CpuYardsticks(Team* team) : team_(team) {}

  // Takes ten milliseconds. The first call takes the memory that is read, 16 MiB; where there is
  // none, both are unknown.
  Yardsticks Read();

  // See Executor::ReadMultiplyAddRate.
  double ReadMultiplyAdds(int width);

 private:
  // In flops and in bytes per microsecond, of one reading; of so many threads.
  double MultiplyAddRate(int threads, int64_t steps) const;
  double ReadRate() const;
  bool TakeMemory();

  Team* team_;
  MemoryRegion memory_;
};

}  // namespace plait
