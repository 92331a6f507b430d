#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace plait {

// What other programs take of one thread's core, and how the thread gives it to them: in turns. A
// system takes a core away where it likes, and for some milliseconds; a thread that leaves it by
// itself, between two pieces of work and before its turn would be ended, keeps nobody waiting who
// needs a piece. Called by the thread alone, but for what says otherwise. What the system does not
// say, or refuses, counts as nothing and changes nothing.
class CoreSharing {
 public:
  using Duration = std::chrono::microseconds;

  CoreSharing() = default;
  ~CoreSharing();
  CoreSharing(const CoreSharing&) = delete;
  CoreSharing& operator=(const CoreSharing&) = delete;

  // Whether other programs have had the core a short while ago. Any thread may ask.
  bool is_shared() const;

  // After work for which others have waited: if the thread was interrupted in it, the core is a
  // shared one from now on, and turns were too long.
  void NoteAwaited();

  // When the thread has slept.
  void BeginTurn();

  // Whether the core is shared and there is no more than `margin` left of the turn, or half of it
  // where the margin is more.
  bool IsTurnOver(Duration margin = Duration(0)) const;

  // Lets other programs have the core, and returns in the next turn.
  void PassTurn();

  // Moves the thread from `core` to another of those it may use, now and then: it may come back.
  void LeaveCore(int core);

 private:
  using Clock = std::chrono::steady_clock;

  // Looks at how long the thread has waited for a core since the last look.
  std::chrono::nanoseconds Look();
  // True where that was long, and the core is a shared one therefore.
  bool NoteWaiting();
  void StartTurn();
  // For a core, since the thread began.
  std::chrono::nanoseconds Waited();

  int file_ = -1;
  Clock::time_point looked_, moved_, turn_end_;
  std::chrono::nanoseconds waited_{0};
  Duration turn_{0};
  std::atomic<int64_t> shared_until_ns_ = 0;  // 0: for long it has been the thread's alone
};

}  // namespace plait
