#pragma once

#include <cstdint>

#include "gpu_worker/backends/cpu/run/memory.h"
#include "gpu_worker/backends/cpu/team/team.h"

namespace plait {

// The caches that a core has to itself. A kernel of a network finds there what little the kernels
// before it have left; one that runs alone, again and again, would find all that it touches.
// Not thread-safe.
class PrivateCaches {
 public:
  // `bytes_of_core`: 0 where the size is unknown, and nothing is ever evicted.
  // The team outlives the object.
  PrivateCaches(Team* team, int64_t bytes_of_core) : team_(team), bytes_of_core_(bytes_of_core) {}

  // Each thread reads as much of other memory as its core's cache holds, which leaves what was
  // there in the cache that cores share. Takes some 150 us. The first call takes the memory; where
  // there is none, nothing happens.
  void Evict();

 private:
  bool TakeMemory();

  Team* team_;
  int64_t bytes_of_core_;
  MemoryRegion memory_;
};

}  // namespace plait
