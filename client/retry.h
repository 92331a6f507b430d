#pragma once

#include <atomic>
#include <functional>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/random.h"

namespace plait {

// How long a client waits for its server.
struct RetryPolicy {
  // For a server that was never heard of: six attempts have five pauses between them, of 0.1 to 1.6
  // seconds before they are shortened, so that a wrong address is told within three seconds.
  int attempts_max = 6;
  absl::Duration pause_first = absl::Milliseconds(100);
  absl::Duration pause_max = absl::Seconds(2);
  // For one that has answered before, or answers that it is stopping: pauses of so much in all. A
  // restart takes seconds, and a node that is replaced most of a minute.
  absl::Duration absence_max = absl::Minutes(1);
  // Of a server that nobody would start again: not OK once it has ended, which is then the answer,
  // without a further pause. Thread-safe. Empty: whatever is away may come back.
  std::function<absl::Status()> server_end;
};

// Whether a server was ever heard of; shared by the calls of a client. Thread-safe.
class ServerSeen {
 public:
  void Note() { seen_ = true; }
  bool seen() const { return seen_; }

 private:
  std::atomic<bool> seen_ = false;
};

// Repeats calls that are safe to repeat while the server cannot be reached. Pauses double from one
// attempt to the next, and each is shortened by a random part of up to a half, so that clients that
// lost the same server do not come back together. Not thread-safe.
class Retrier {
 public:
  using Sleep = std::function<void(absl::Duration)>;

  // The seed decides the random parts of the pauses: a test repeats them, clients need different
  // ones. `server` outlives the retrier.
  Retrier(RetryPolicy policy, uint64_t seed, Sleep sleep, ServerSeen& server)
      : policy_(policy), random_(seed), sleep_(std::move(sleep)), server_(server) {}

  // Calls until the answer is not UNAVAILABLE, or is UNAVAILABLE for a reason that waiting a moment
  // does not change (no such device), or the policy's patience is used up. Returns the last answer,
  // or what the policy says of a server that has ended.
  // A call that the server cancelled, without a reason of plait's, counts as UNAVAILABLE.
  // REQUIRES: calling twice has the effect of calling once; the call is not cancelled on this side.
  absl::Status Run(const std::function<absl::Status()>& call);

  // The same for a stream that makes progress: attempts and pauses are counted from the last
  // Progress on. So a transfer of hours may survive any number of short breaks.
  void Progress();

 private:
  RetryPolicy policy_;
  Random random_;
  Sleep sleep_;
  ServerSeen& server_;
  int attempts_ = 0;
  absl::Duration paused_;
};

}  // namespace plait
