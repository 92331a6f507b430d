#pragma once

#include <chrono>

#include <sys/types.h>

namespace plait {

// Whether other programs take the core of the thread that leads a team, beside those of its
// members: what members get of their cores is then taken from each other's leaders, as where
// several programs compute on all cores, and each is faster by one thread alone.
class Crowd {
 public:
  // Asked by the leading thread, again and again. It looks while members share their cores, and
  // remembers what it saw for a while. One thread at a time.
  bool IsCrowded(bool do_members_share);

 private:
  using Clock = std::chrono::steady_clock;

  Clock::time_point looked_, until_;
  std::chrono::nanoseconds waited_{0};
  pid_t thread_ = 0;  // which looked
};

}  // namespace plait
