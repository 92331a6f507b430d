#include "server/jobs/job_progress.h"

#include <algorithm>

namespace plait {
namespace {

// What takes longer than it was said to still has something to do.
constexpr double kFractionMax = 0.99;

}  // namespace

void JobProgress::Heard(double fraction, double seconds_left, absl::Duration now) {
  fraction_ = std::max(fraction, At(now).fraction);
  seconds_left_ = seconds_left;
  heard_at_ = now;
}

JobProgress::Estimate JobProgress::At(absl::Duration now) const {
  const double seconds = std::max(0.0, absl::ToDoubleSeconds(now - heard_at_));
  if (seconds_left_ <= 0) return {std::min(fraction_, kFractionMax), 0};
  const double part = std::min(1.0, seconds / seconds_left_);
  return {std::min(fraction_ + (1 - fraction_) * part, kFractionMax),
          std::max(0.0, seconds_left_ - seconds)};
}

}  // namespace plait
