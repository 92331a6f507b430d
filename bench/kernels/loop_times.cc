#include "bench/kernels/loop_times.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include "gpu_worker/backends/cpu/loops/loops.h"

namespace plait {
namespace {

constexpr const char* kNames[] = {
#define PLAIT_UNARY_LOOP(name, expression) #name,
#include "gpu_worker/backends/cpu/loops/loops.def"
#undef PLAIT_UNARY_LOOP
};

constexpr int64_t kElements = 2048;
constexpr int kCalls = 20;
constexpr int kSamples = 300;

// The fastest of all samples: whatever else the processor does only adds to the others.
double NsPerElement(LoopTable::Unary loop) {
  using Clock = std::chrono::steady_clock;
  std::vector<float> x(kElements);
  std::vector<float> y(kElements);
  for (int64_t i = 0; i < kElements; ++i) x[i] = static_cast<float>(i - kElements / 2) / 128.0f;
  double best_ns = 1e30;
  for (int sample = 0; sample < kSamples; ++sample) {
    const Clock::time_point start = Clock::now();
    for (int call = 0; call < kCalls; ++call) loop(x.data(), y.data(), kElements, 1.0f, 0.5f);
    const std::chrono::duration<double, std::nano> taken = Clock::now() - start;
    best_ns = std::min(best_ns, taken.count() / kCalls / kElements);
  }
  return best_ns;
}

}  // namespace

void PrintLoopTimes() {
  std::printf("%s\n", Loops().instruction_set);
  for (int loop = 0; loop < kUnaryLoopCount; ++loop) {
    std::printf("  %-16s %8.4f ns per element\n", kNames[loop], NsPerElement(Loops().unary[loop]));
  }
}

}  // namespace plait
