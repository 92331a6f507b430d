#include "gpu_worker/executor/settled_yardsticks.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "base/statistics.h"

namespace plait {
namespace {

// Those whose multiply-adds are nearly the most.
std::vector<Yardsticks> Agreeing(const std::vector<Yardsticks>& readings) {
  double most = 0;
  for (const Yardsticks& reading : readings) {
    most = std::max(most, reading.multiply_add_flops_per_us);
  }
  std::vector<Yardsticks> agreeing;
  for (const Yardsticks& reading : readings) {
    if (reading.multiply_add_flops_per_us >= (1 - kYardstickDriftMax) * most) {
      agreeing.push_back(reading);
    }
  }
  return agreeing;
}

Yardsticks Medians(const std::vector<Yardsticks>& readings) {
  std::vector<double> multiply_adds;
  std::vector<double> reads;
  for (const Yardsticks& reading : readings) {
    multiply_adds.push_back(reading.multiply_add_flops_per_us);
    reads.push_back(reading.read_bytes_per_us);
  }
  return {.multiply_add_flops_per_us = Median(std::move(multiply_adds)),
          .read_bytes_per_us = Median(std::move(reads))};
}

}  // namespace

Yardsticks ReadSettledYardsticks(Executor& executor, const std::stop_token& stop,
                                 absl::Duration rest) {
  executor.AwaitNearThreads(stop);
  std::vector<Yardsticks> readings = {executor.ReadYardsticks()};
  if (readings.front().multiply_add_flops_per_us <= 0) return readings.front();
  while (Agreeing(readings).size() < kAgreeingReadings && readings.size() < kSettledReadingsMax &&
         !stop.stop_requested()) {
    absl::SleepFor(rest);
    readings.push_back(executor.ReadYardsticks());
  }
  return Medians(Agreeing(readings));
}

}  // namespace plait
