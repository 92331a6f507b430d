#include "gpu_worker/backends/cpu/run/yardsticks.h"

#include <algorithm>
#include <atomic>
#include <numeric>
#include <utility>
#include <vector>

#include "base/statistics.h"
#include "gpu_worker/backends/cpu/loops/loops.h"
#include "gpu_worker/executor/stopwatch.h"

namespace plait {
namespace {

// The clock changes within milliseconds, so that the readings are spread over ten of them.
constexpr int kReadings = 5;
// About half a millisecond: six cycles a step on two multiply-add units, whatever their width.
constexpr int64_t kSteps = 300'000;
// A fifth of that: who reads around each kernel needs the moment, not the mean.
constexpr int kShortReadings = 3;
constexpr int64_t kShortSteps = 60'000;
// As long. Of 4 MiB every second reading was 3 % from the one before.
constexpr int64_t kReadFloats = int64_t{4} << 20;

// Takes results, which the compiler would otherwise not compute.
std::atomic<float> work_done;

// The rate of work that is `amount`, per microsecond.
template <typename Work>
double RateOf(double amount, const Work& work) {
  const Stopwatch stopwatch;
  work_done = work();
  return amount / std::max(stopwatch.elapsed_us(), 1e-3);
}

// Another program takes a core now and then, which says nothing of how fast the core is.
double NearlyBest(std::vector<double> rates) { return Quantile(std::move(rates), 0.9); }

double Sum(const std::vector<double>& rates) {
  return std::accumulate(rates.begin(), rates.end(), 0.0);
}

}  // namespace

// Each thread looks at the clock itself, as those below do: waiting for another is no work.
double CpuYardsticks::MultiplyAddRate(int threads, int64_t steps) const {
  const LoopTable& loops = Loops();
  const double flops = 2.0 * static_cast<double>(steps * loops.multiply_adds_per_step);
  std::vector<double> of_thread(static_cast<size_t>(threads), 0);
  RunGroups(threads, 1, [&](int thread) {
    of_thread[thread] = RateOf(flops, [&] { return loops.chain_multiply_adds(steps); });
  });
  return Sum(of_thread);
}

double CpuYardsticks::ReadMultiplyAdds(int width) {
  const Team::Lead lead(*team_);
  double best = 0;
  for (int i = 0; i < kShortReadings; ++i) {
    best = std::max(best, MultiplyAddRate(width, kShortSteps));
  }
  return best * team_->threads() / width;
}

double CpuYardsticks::ReadRate() const {
  memory_.EvictFromCaches();
  const int threads = team_->threads();
  // All threads are to begin at once, because they share the way to the memory.
  RunGroups(threads, 1, [](int) {});
  const int64_t share = kReadFloats / threads;
  const auto* const floats = reinterpret_cast<const float*>(memory_.data());
  std::vector<double> of_thread(static_cast<size_t>(threads), 0);
  RunGroups(threads, 1, [&](int thread) {
    const auto bytes = static_cast<double>(share) * sizeof(float);
    of_thread[thread] = RateOf(bytes, [&] { return Loops().sum(floats + thread * share, share); });
  });
  return Sum(of_thread);
}

bool CpuYardsticks::TakeMemory() {
  if (memory_.used_bytes() > 0) return true;
  absl::StatusOr<MemoryRegion> memory =
      MemoryRegion::Written(kReadFloats * static_cast<int64_t>(sizeof(float)));
  if (!memory.ok()) return false;
  memory_ = *std::move(memory);
  return true;
}

Yardsticks CpuYardsticks::Read() {
  if (!TakeMemory()) return {};
  const Team::Lead lead(*team_);
  std::vector<double> multiply_adds;
  std::vector<double> reads;
  for (int i = 0; i < kReadings; ++i) {
    multiply_adds.push_back(MultiplyAddRate(team_->threads(), kSteps));
    reads.push_back(ReadRate());
  }
  return {.multiply_add_flops_per_us = NearlyBest(std::move(multiply_adds)),
          .read_bytes_per_us = NearlyBest(std::move(reads))};
}

}  // namespace plait
