#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "gpu_worker/simulated_gpu/launch.h"

namespace plait::simulated_gpu {

// A kernel around a few instructions. Its parameters are x, 64 words with the numbers 0 to 63, and
// y, 64 words that nobody has written. It begins with
//   %rd1 x    %rd2 y    %rd6 tile, 512 bytes of shared memory    %r1 %tid.x    %r2 %ctaid.x
//   %rd4 x + 4 %tid.x    %rd5 y + 4 %tid.x    %rd7 tile + 4 %tid.x
// and has the registers %p, %rs, %r, %f, %rd up to 30. The body's first line is the text's line 20.
std::string HandWritten(const std::string& body);

struct HandWrittenRun {
  LaunchReport report;
  std::vector<uint32_t> y;  // words nobody has written are 0xdeadbeef
};

// Errors: those of parsing, decoding and launching.
absl::StatusOr<HandWrittenRun> RunHandWritten(const std::string& body, unsigned blocks,
                                              unsigned threads, uint64_t seed = 1);

}  // namespace plait::simulated_gpu
