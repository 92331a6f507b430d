#include "gpu_worker/backends/cuda/driver/clock_watch.h"

#include <algorithm>

namespace plait::cuda {
namespace {

// 3 %: less is a step of a clock, as for the yardsticks of processors.
constexpr double kClockDriftMax = 0.03;
// A GPU that was idle is at its clock behind the first; more is a GPU that does not keep one.
constexpr int kSpansMax = 3;

// Of nvml.h, which the toolkit need not have.
struct ClockLimit {
  unsigned long long bits;
  const char* name;
};
constexpr ClockLimit kClockLimits[] = {
    {0x1, "nothing runs"},           {0x2, "clocks set by an application"},
    {0x4 | 0x80, "power"},           {0x8, "hardware"},
    {0x20 | 0x40, "heat"},           {0x10, "a group of GPUs"},
    {0x100, "clocks of the display"}};

bool Moved(double from_mhz, double to_mhz) {
  return std::max(from_mhz, to_mhz) > (1 + kClockDriftMax) * std::min(from_mhz, to_mhz);
}

std::string Joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text.empty() ? "nothing known" : text;
}

}  // namespace

std::vector<std::string> ClockLimitNames(unsigned long long limits) {
  std::vector<std::string> names;
  for (const ClockLimit& limit : kClockLimits) {
    if ((limits & limit.bits) != 0) names.emplace_back(limit.name);
  }
  return names;
}

void ClockSeen::Add(const ClockSeen& more) {
  spans += more.spans;
  moving += more.moving;
  const bool has_both = least_mhz > 0 && more.least_mhz > 0;
  least_mhz = has_both ? std::min(least_mhz, more.least_mhz) : std::max(least_mhz, more.least_mhz);
  most_mhz = std::max(most_mhz, more.most_mhz);
  limits |= more.limits;
}

Result<double> ClockWatch::TimeSteady(const std::function<Result<double>()>& span) {
  if (read_ == nullptr) return span();
  Result<ClockReading> before = read_();
  for (int taken = 1;; ++taken) {
    Result<double> us = span();
    if (!us.ok()) return us;
    ++spans_;
    Result<ClockReading> after = read_();
    const bool moved = Notes(before, after);
    if (!moved || taken == kSpansMax) {
      Keep(before, after, moved);
      return us;
    }
    ++dropped_;
    before = std::move(after);
  }
}

void ClockWatch::Keep(const Result<ClockReading>& before, const Result<ClockReading>& after,
                      bool moved) {
  const int moving = moved ? 1 : 0;
  moving_ += moving;
  seen_.Add({.spans = 1, .moving = moving});
  for (const Result<ClockReading>* reading : {&before, &after}) {
    if (!reading->ok()) continue;
    const auto& [mhz, limits] = reading->value();
    seen_.Add({.least_mhz = mhz, .most_mhz = mhz, .limits = limits});
  }
}

bool ClockWatch::Notes(const Result<ClockReading>& before, const Result<ClockReading>& after) {
  if (!before.ok() || !after.ok()) return false;
  for (const ClockReading& reading : {before.value(), after.value()}) {
    least_mhz_ = least_mhz_ == 0 ? reading.sm_mhz : std::min(least_mhz_, reading.sm_mhz);
    most_mhz_ = std::max(most_mhz_, reading.sm_mhz);
    limits_ |= reading.limits;
  }
  return Moved(before.value().sm_mhz, after.value().sm_mhz);
}

std::string ClockWatch::TakeNotes() {
  std::string notes;
  if (most_mhz_ > 0 && (dropped_ > 0 || IsNews())) {
    notes = "spans: " + std::to_string(spans_) + ", at " + std::to_string(least_mhz_) + " to " +
            std::to_string(most_mhz_) + " MHz, limited by " + Joined(ClockLimitNames(limits_));
    if (dropped_ > 0) {
      notes += "; dropped: " + std::to_string(dropped_) + ", since the clock moved";
    }
    if (moving_ > 0) notes += "; kept though it moved: " + std::to_string(moving_);
    told_least_mhz_ = least_mhz_;
    told_most_mhz_ = most_mhz_;
    told_limits_ = limits_;
  }
  spans_ = dropped_ = moving_ = 0;
  least_mhz_ = most_mhz_ = 0;
  limits_ = 0;
  return notes;
}

bool ClockWatch::IsNews() const {
  return told_most_mhz_ == 0 || limits_ != told_limits_ || Moved(least_mhz_, told_least_mhz_) ||
         Moved(most_mhz_, told_most_mhz_);
}

}  // namespace plait::cuda
