#pragma once

#include <functional>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/random.h"

namespace plait {

// Six attempts have five pauses between them, of 0.1 to 1.6 seconds before they are shortened: at
// most three seconds in all, which a server needs to restart.
struct RetryPolicy {
  int attempts_max = 6;
  absl::Duration pause_first = absl::Milliseconds(100);
  absl::Duration pause_max = absl::Seconds(5);
};

// Repeats calls that are safe to repeat while the server cannot be reached. Pauses double from one
// attempt to the next, and each is shortened by a random part of up to a half, so that clients that
// lost the same server do not come back together. Not thread-safe.
class Retrier {
 public:
  using Sleep = std::function<void(absl::Duration)>;

  // The seed decides the random parts of the pauses: a test repeats them, clients need different
  // ones.
  Retrier(RetryPolicy policy, uint64_t seed, Sleep sleep)
      : policy_(policy), random_(seed), sleep_(std::move(sleep)) {}

  // Calls until the answer is not UNAVAILABLE, or is UNAVAILABLE for a reason that waiting a moment
  // does not change (no such device, draining), or the attempts are used up. Returns the last
  // answer.
  // REQUIRES: calling twice has the effect of calling once.
  absl::Status Run(const std::function<absl::Status()>& call);

  // The same for a stream that makes progress: attempts are counted from the last Progress on.
  // So a transfer of hours may survive any number of short breaks.
  void Progress() { attempts_ = 0; }

 private:
  RetryPolicy policy_;
  Random random_;
  Sleep sleep_;
  int attempts_ = 0;
};

}  // namespace plait
