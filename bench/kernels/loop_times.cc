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

std::vector<float> Numbers() {
  std::vector<float> x(kElements);
  for (int64_t i = 0; i < kElements; ++i) x[i] = static_cast<float>(i - kElements / 2) / 128.0f;
  return x;
}

// Prints what `loop` takes for an element of kElements: of the fastest of all samples, since
// whatever else the processor does only adds to the others.
template <typename Loop>
void PrintTime(const char* name, const Loop& loop) {
  using Clock = std::chrono::steady_clock;
  double best_ns = 1e30;
  for (int sample = 0; sample < kSamples; ++sample) {
    const Clock::time_point start = Clock::now();
    for (int call = 0; call < kCalls; ++call) loop();
    const std::chrono::duration<double, std::nano> taken = Clock::now() - start;
    best_ns = std::min(best_ns, taken.count() / kCalls / kElements);
  }
  std::printf("  %-16s %8.4f ns per element\n", name, best_ns);
}

void PrintUnaryTimes() {
  const std::vector<float> x = Numbers();
  std::vector<float> y(kElements);
  for (int i = 0; i < kUnaryLoopCount; ++i) {
    const LoopTable::Unary loop = Loops().unary[i];
    PrintTime(kNames[i], [&] { loop(x.data(), y.data(), kElements, 1.0f, 0.5f); });
  }
}

void PrintByteTimes() {
  constexpr ByteRange kBytes = {0, 255, 128};
  const IntegerLoops& loops = Loops().integers;
  std::vector<float> x = Numbers();
  const std::vector<int32_t> sums(kElements, 1000);
  std::vector<uint8_t> y(kElements);
  PrintTime("quantize", [&] { loops.quantize(x.data(), kElements, 0.1f, kBytes, y.data()); });
  PrintTime("requantize",
            [&] { loops.requantize(sums.data(), nullptr, x.data(), kElements, kBytes, y.data()); });
  PrintTime("dequantize", [&] { loops.dequantize[0](y.data(), kElements, 0.1f, 128, x.data()); });
}

}  // namespace

void PrintLoopTimes() {
  std::printf("%s\n", Loops().instruction_set);
  PrintUnaryTimes();
  PrintByteTimes();
}

}  // namespace plait
