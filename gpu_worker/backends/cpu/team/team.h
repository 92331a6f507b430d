#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include <sched.h>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/synchronization/mutex.h"
#include "gpu_worker/backends/cpu/team/core_sharing.h"
#include "gpu_worker/backends/cpu/team/crowd.h"

namespace plait {

// Whether groups may take longer than a thread has a core that it shares.
enum class GroupLength { kBrief, kLong };

// Where the threads of a team run.
enum class ThreadPlacement {
  kAnywhere,  // where the system puts them, from moment to moment
  kPinned,    // each on a processor of its own, of those that the process may use
};

// Threads that compute together: whoever leads them is the first one, and the others are members
// that wait for work. A member that has none spins for 50 us, because to wake a thread that sleeps
// takes as long, and then sleeps: beside other programs no core is held for longer, and an idle
// team costs nothing. Threads that spin hand work over in some tenths of a microsecond.
//
// Where other programs take cores away, nobody waits for a thread that has not begun its share of
// divided work (ForEachPart): it is left out. A member that would share a core with whoever asks it
// moves, where others are allowed, and never spins there; and one that is interrupted in the midst
// of a share, for which all have to wait, works in turns from then on (CoreSharing).
//
// Any thread of a team can lead those after it: of eight threads, 0 may ask 4 to run a branch of a
// plan, and 4 then runs each kernel of it together with 5, 6 and 7. In the same way callers that
// lead no more than a part of the team lead different parts at the same time, so that together they
// never use more threads than the team has.
class Team {
 public:
  // With fewer processors than threads none is pinned. REQUIRES: threads >= 1.
  Team(int threads, ThreadPlacement placement);
  // REQUIRES: nobody leads the team.
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  int threads() const { return static_cast<int>(members_.size()); }

  // For tests: from now on divided work (ForEachPart) is cut into pieces of random lengths, and
  // each of them given to a random thread, in random order. All of it follows from the seed and
  // from how often work has been divided since. 0: no longer. REQUIRES: nobody leads the team.
  void ShufflePieces(uint64_t seed) { shuffle_seed_ = seed; }

  // Makes the calling thread the first of `width` threads of the team until the end of the scope,
  // in which it stays on its processor if the team is pinned. Waits until as many threads beside
  // each other are free; who came first is served first. Thread-safe.
  class Lead {
   public:
    // All of the team. REQUIRES: the calling thread leads no team.
    explicit Lead(Team& team) : Lead(team, team.threads()) {}
    // REQUIRES: 1 <= width <= team.threads(), and as above.
    Lead(Team& team, int width);
    ~Lead();
    Lead(const Lead&) = delete;
    Lead& operator=(const Lead&) = delete;

   private:
    Team& team_;
    const int width_;
    const int first_;  // thread
    cpu_set_t allowed_before_;
  };

 private:
  friend void RunGroups(int groups, int width, absl::FunctionRef<void(int group)> work);
  friend void RunGroupsAnywhere(int groups, int width, GroupLength length,
                                absl::FunctionRef<void(int group)> work);
  friend void AskThoseThatRest();
  friend void NoteAwaited(int group, int width);
  friend void ForEachPart(int threads, int64_t count,
                          absl::FunctionRef<void(int64_t begin, int64_t end, int thread)> part);

  // What a member is asked to do.
  struct Work {
    const absl::FunctionRef<void(int group)>* run = nullptr;  // nullptr: the team ends
    int group = 0;
    int width = 1;
  };
  // What to do with work that a member has not begun when all others are through with theirs.
  enum class Late { kAwait, kTakeOver, kTakeOverLong, kLeaveOut };
  // Thread 0 has one as well, whose share alone is used. Each side writes cache lines of its own.
  struct Member {
    alignas(64) std::atomic<uint32_t> asked = 0;  // how often; Work is written before
    std::atomic<int> asker_core = -1;
    std::atomic<bool> is_whole = false;  // the work cannot be left in its midst
    Work work;
    alignas(64) std::atomic<uint32_t> done = 0;  // how often
    // Whom the member or whoever asked it took the last work by: the one that sets it to `asked`
    // does the work, or leaves it out.
    std::atomic<uint32_t> taken = 0;
    std::atomic<int> core = -1;
    std::atomic<bool> is_awaited = false;  // whoever asked sleeps
    CoreSharing sharing;
    Crowd crowd;  // where the thread leads
    // What is left of the thread's part of the work that is being divided: [next, end).
    alignas(64) std::atomic<int64_t> next = 0;
    int64_t end = 0;
    std::thread thread;

    // Takes what was asked for last out of the member's hands; false: it has begun.
    bool TakeBack();
    // Until what was asked for last is done.
    void Await();
  };

  struct Asked;
  static thread_local Asked* asked_now_;  // by the calling thread

  static void RunOnMembers(int groups, int width, absl::FunctionRef<void(int group)> work,
                           Late late);
  static void AskThoseThatRest();
  static void AskThoseThatAreBack();
  static void ForEachShuffledPart(
      int width, int64_t count,
      absl::FunctionRef<void(int64_t begin, int64_t end, int thread)> part);
  void RunMember(int thread);
  // Waits for `width` free threads beside each other, takes them and returns the first one's
  // number.
  int TakeThreads(int width);
  void ReturnThreads(int first, int width);
  // The first of such threads; -1: there are none.
  int FreeThreads(int width) const ABSL_SHARED_LOCKS_REQUIRED(mutex_);

  std::vector<std::unique_ptr<Member>> members_;
  std::vector<int> processors_;             // by thread; empty: not pinned
  std::atomic<uint64_t> shuffle_seed_ = 0;  // of the next divided work; 0: nothing is shuffled
  absl::Mutex mutex_;
  std::vector<bool> is_taken_ ABSL_GUARDED_BY(mutex_);  // by thread
  // Who wants to lead draws a number and is served in turn: a wide caller would otherwise wait for
  // as long as narrow ones follow each other.
  int64_t next_number_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t served_ ABSL_GUARDED_BY(mutex_) = 0;
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

// The same where groups may follow each other: one that its thread has not begun when group 0 has
// returned, because other programs have its core, the calling thread runs too; long ones it runs
// alone where others share their cores. None may wait for one that has not begun, unless group 0
// calls AskThoseThatRest.
void RunGroupsAnywhere(int groups, int width, GroupLength length,
                       absl::FunctionRef<void(int group)> work);

// In group 0 of those: has every group begin, also where nobody was asked.
void AskThoseThatRest();

// In group 0 of those: says that the calling thread waits for what the group's thread is at, which
// then works in turns if other programs interrupt it.
void NoteAwaited(int group, int width);

// Returns when the threads that the calling one may lead are awake, so that the first work does not
// pay for it, or after 0.1 ms: others have their cores.
void WakeMembers();

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
