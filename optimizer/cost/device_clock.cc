#include "optimizer/cost/device_clock.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"

namespace plait {
namespace {

constexpr size_t kClockLimitsMax = 16;
constexpr size_t kClockLimitBytesMax = 64;
constexpr int kClockSpansMax = 1'000'000'000;  // two of them are an int

bool IsLimit(const std::string& limit) {
  return !limit.empty() && limit.size() <= kClockLimitBytesMax &&
         absl::c_none_of(limit, [](char c) { return absl::ascii_iscntrl(c) || c == ';'; });
}

}  // namespace

bool IsClock(const DeviceClock& clock) {
  return clock.mhz_min > 0 && clock.mhz_max >= clock.mhz_min && clock.spans_moving >= 0 &&
         clock.spans >= clock.spans_moving && clock.spans <= kClockSpansMax &&
         clock.limits.size() <= kClockLimitsMax && absl::c_all_of(clock.limits, IsLimit);
}

void AddClock(const DeviceClock& more, DeviceClock& clock) {
  if (more.mhz_min == 0) return;
  clock.mhz_min = clock.mhz_min == 0 ? more.mhz_min : std::min(clock.mhz_min, more.mhz_min);
  clock.mhz_max = std::max(clock.mhz_max, more.mhz_max);
  clock.spans = std::min(kClockSpansMax, clock.spans + more.spans);
  clock.spans_moving = std::min(kClockSpansMax, clock.spans_moving + more.spans_moving);
  clock.limits.insert(clock.limits.end(), more.limits.begin(), more.limits.end());
  absl::c_sort(clock.limits);
  clock.limits.erase(std::unique(clock.limits.begin(), clock.limits.end()), clock.limits.end());
  if (clock.limits.size() > kClockLimitsMax) clock.limits.resize(kClockLimitsMax);
}

}  // namespace plait
