#pragma once

#include "absl/time/time.h"

namespace plait {

// How far a job is between the words of its search child, which stands still while it is measured
// for: from what the child said last, time goes on. Never goes back within a run. Not thread-safe.
//
// The child says at 10 s that 0.4 is done and 30 s are left: at 25 s it is 0.7, with 15 s left. Now
// it says that 0.6 is done and 10 s are left: it stays at 0.7, and is there after 10 s more.
class JobProgress {
 public:
  // At a moment of the clock.
  struct Estimate {
    double fraction = 0;      // below 1: the end is told otherwise
    double seconds_left = 0;  // never below 0
  };

  // What the child has said at `now`. REQUIRES: 0 <= fraction <= 1, and 0 <= seconds_left.
  void Heard(double fraction, double seconds_left, absl::Duration now);

  Estimate At(absl::Duration now) const;

 private:
  double fraction_ = 0;  // at heard_at_
  double seconds_left_ = 0;
  absl::Duration heard_at_;
};

}  // namespace plait
