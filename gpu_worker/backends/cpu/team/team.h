#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include <sched.h>

#include "absl/functional/function_ref.h"

namespace plait {

// Where the threads of a team run.
enum class Placement {
  kAnywhere,  // where the system puts them, from moment to moment
  kPinned,    // each on a processor of its own, of those that the process may use
};

// The threads of one executor: whoever leads it is thread 0, and `threads` - 1 members wait for
// work. A member that has none spins for 50 us, because to wake a thread that sleeps takes as long,
// and then sleeps: beside other programs no core is held for longer, and an idle team costs
// nothing. Threads that spin hand work over in some tenths of a microsecond.
//
// Any thread of a team can lead those after it: of eight threads, 0 may ask 4 to run a branch of a
// plan, and 4 then runs each kernel of it together with 5, 6 and 7.
class Team {
 public:
  // With fewer processors than threads none is pinned. REQUIRES: threads >= 1.
  Team(int threads, Placement placement);
  // REQUIRES: nobody leads the team.
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  int threads() const { return static_cast<int>(members_.size()); }

  // Makes the calling thread the team's thread 0 until the end of the scope, in which it stays on
  // its processor if the team is pinned. One thread at a time leads a team.
  class Lead {
   public:
    explicit Lead(Team& team);
    ~Lead();
    Lead(const Lead&) = delete;
    Lead& operator=(const Lead&) = delete;

   private:
    const bool is_pinned_;
    cpu_set_t allowed_before_;
  };

 private:
  friend void RunGroups(int groups, int width, absl::FunctionRef<void(int group)> work);
  friend void ForEachPart(int threads, int64_t count,
                          absl::FunctionRef<void(int64_t begin, int64_t end, int thread)> part);

  // What a member is asked to do.
  struct Work {
    const absl::FunctionRef<void(int group)>* run = nullptr;  // nullptr: the team ends
    int group = 0;
    int width = 1;
  };
  // Thread 0 has one as well, whose share alone is used. Each side writes cache lines of its own.
  struct Member {
    alignas(64) std::atomic<uint32_t> asked = 0;  // how often; Work is written before
    Work work;
    alignas(64) std::atomic<uint32_t> done = 0;  // how often
    // What is left of the thread's part of the work that is being divided: [next, end).
    alignas(64) std::atomic<int64_t> next = 0;
    int64_t end = 0;
    std::thread thread;
  };

  void RunMember(int thread);

  std::vector<std::unique_ptr<Member>> members_;
  std::vector<int> processors_;  // by thread; empty: not pinned
};

// How many threads the calling one may lead, itself included: 1 where it leads no team.
int TeamWidth();

// Lets the calling thread lead fewer until the end of the scope. What is loaded under a width is
// run under the same.
class TeamWidthScope {
 public:
  // REQUIRES: 1 <= width <= TeamWidth().
  explicit TeamWidthScope(int width);
  ~TeamWidthScope();
  TeamWidthScope(const TeamWidthScope&) = delete;
  TeamWidthScope& operator=(const TeamWidthScope&) = delete;

 private:
  int before_;
};

// Calls work(group) for each group at once, each on a thread that may lead `width`, the calling one
// being that of group 0; returns when all have returned. REQUIRES: groups * width <= TeamWidth().
void RunGroups(int groups, int width, absl::FunctionRef<void(int group)> work);

// Calls part(begin, end, thread) for pieces of [0, count) that cover it, by up to `threads` threads
// (no more than the calling one may lead). Each thread has a consecutive part of its own, so that
// neighbours in memory belong to one thread, and takes it in pieces from the front; one that is
// ready takes pieces of the others' parts, so that a thread whose core is taken away by another
// program holds nobody up for longer than a piece. `thread` is below `threads`, and no two calls
// at the same time have the same one. Returns when all is done.
// `part` must not fail; it notes an error in a place of its thread's own. What it writes must not
// depend on where pieces begin.
void ForEachPart(int threads, int64_t count,
                 absl::FunctionRef<void(int64_t begin, int64_t end, int thread)> part);

// Waits until the word is not `old`, spinning at first.
void AwaitChange(const std::atomic<uint32_t>& word, uint32_t old);

}  // namespace plait
