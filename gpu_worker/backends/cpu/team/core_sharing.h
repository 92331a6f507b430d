#pragma once

#include <chrono>

namespace plait {

// What other programs take from one thread, which alone calls it. What the system does not say, or
// refuses, counts as nothing and changes nothing.
class CoreSharing {
 public:
  CoreSharing() = default;
  ~CoreSharing();
  CoreSharing(const CoreSharing&) = delete;
  CoreSharing& operator=(const CoreSharing&) = delete;

  // Whether the thread has waited for its core for a good part of the time since the last call.
  // False where the last call was only just now.
  bool IsInterrupted();

  // Moves the thread from `core` to another of those it may use, now and then: it may come back.
  void LeaveCore(int core);

 private:
  using Clock = std::chrono::steady_clock;

  // For a core, since the thread began.
  std::chrono::nanoseconds Waited();

  int file_ = -1;
  Clock::time_point looked_, moved_;
  std::chrono::nanoseconds waited_{0};
};

}  // namespace plait
