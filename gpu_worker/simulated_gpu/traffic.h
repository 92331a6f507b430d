#pragma once

#include <cstdint>

#include "gpu_worker/simulated_gpu/lanes.h"

namespace plait::simulated_gpu {

// The 32-byte sectors that one request of a warp touches: every lane of `mask` asks for `bytes` at
// its address. REQUIRES: addresses are multiples of `bytes`, a power of two up to 16.
int SectorsOf(const uint64_t* addresses, uint32_t mask, int bytes);

// The passes that shared memory needs for one request, and the least that as many bytes need.
// 32 banks of 4 bytes: lanes that ask for other words of one bank wait for each other, for the same
// word do not. Requests of 8 and 16 bytes per lane go by halves and quarters of the warp.
struct Wavefronts {
  int needed = 0;
  int least = 0;
};
Wavefronts WavefrontsOf(const uint64_t* addresses, uint32_t mask, int bytes);

}  // namespace plait::simulated_gpu
