#include "gpu_worker/backends/cpu/team/team.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <pthread.h>

#include "base/status_macros.h"
#include "gpu_worker/backends/cpu/team/shuffled_pieces.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

// Four threads, 0 leads; RunGroups(2, 2, branch) and in each branch ForEachPart(2, 100, part):
//   0: asks 2 to run branch(1), runs branch(0)
//   0: asks 1, takes [0, 12) [12, 24) ...       2: asks 3, takes [0, 12) [12, 24) ...
//   1: takes [50, 62) [62, 74) ... then what is left of thread 0's part; 3 likewise
// To ask is to write the work and then a counter that the member waits for; to wait for it is to
// wait for the counter by which the member says that it is done. Between the two the member takes
// the work, by a third counter; where its core belongs to another program at that moment, 0 has
// done all of the work meanwhile, and takes it back by the same counter.

namespace plait {
namespace {

// As long as waking a thread takes: who waits for less should spin, who waits for more should not
// have.
constexpr auto kSpinMax = std::chrono::microseconds(50);
// On a shared core: who sleeps there has to wait for the next turn of others to end.
constexpr auto kSpinSharingMax = std::chrono::microseconds(500);
// Work that cannot be left in its midst is begun only where there is time for most of its kind.
constexpr auto kWholeWork = std::chrono::microseconds(1000);
// A look at the clock takes as long as one pause.
constexpr int kPausesPerLook = 16;
// Few, because each begins with a shared counter; many, because all wait for the last one.
constexpr int64_t kPiecesPerThread = 4;

// What the calling thread is within a team.
struct Place {
  Team* team = nullptr;
  int thread = 0;
  int width = 1;  // threads that it may lead, from itself on
};
thread_local Place place;

void Pause() {
#if defined(__x86_64__)
  _mm_pause();
#endif
}

// The processors that the calling thread may use, in order.
std::vector<int> AllowedProcessors() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  std::vector<int> processors;
  if (pthread_getaffinity_np(pthread_self(), sizeof(allowed), &allowed) != 0) return processors;
  for (int processor = 0; processor < CPU_SETSIZE; ++processor) {
    if (CPU_ISSET(processor, &allowed)) processors.push_back(processor);
  }
  return processors;
}

// A system that refuses leaves the thread where it is, which is slower at worst.
void StayOn(int processor) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(processor, &one);
  pthread_setaffinity_np(pthread_self(), sizeof(one), &one);
}

// Whether the word is no longer `old` before it takes too long. On the core of whoever changes it
// nobody spins.
bool SpinUntilChange(const std::atomic<uint32_t>& word, uint32_t old,
                     const std::atomic<int>* other_core,
                     std::chrono::microseconds spin_max = kSpinMax) {
  const auto began = std::chrono::steady_clock::now();
  do {
    for (int i = 0; i < kPausesPerLook; ++i) {
      if (word.load(std::memory_order_acquire) != old) return true;
      Pause();
    }
    const bool is_mine =
        other_core != nullptr && other_core->load(std::memory_order_relaxed) == sched_getcpu();
    if (is_mine) return false;
  } while (std::chrono::steady_clock::now() - began < spin_max);
  return false;
}

void SleepUntilChange(const std::atomic<uint32_t>& word, uint32_t old) {
  while (word.load(std::memory_order_acquire) == old) word.wait(old, std::memory_order_acquire);
}

}  // namespace

void AwaitChange(const std::atomic<uint32_t>& word, uint32_t old) {
  if (!SpinUntilChange(word, old, nullptr)) SleepUntilChange(word, old);
}

Team::Team(int threads, ThreadPlacement placement) : is_taken_(std::max(threads, 0), false) {
  PLAIT_CHECK(threads >= 1);
  for (int i = 0; i < threads; ++i) members_.push_back(std::make_unique<Member>());
  if (placement == ThreadPlacement::kPinned) {
    processors_ = AllowedProcessors();
    if (processors_.size() < members_.size()) processors_.clear();
  }
  for (int i = 1; i < threads; ++i) {
    members_[i]->thread = std::thread([this, i] { RunMember(i); });
  }
}

Team::~Team() {
  for (const std::unique_ptr<Member>& member : members_) {
    if (!member->thread.joinable()) continue;
    member->work.run = nullptr;
    member->asked.fetch_add(1);
    member->asked.notify_one();
    member->thread.join();
  }
}

void Team::RunMember(int thread) {
  pthread_setname_np(pthread_self(), "plait-team");
  if (!processors_.empty()) StayOn(processors_[thread]);
  Member& member = *members_[thread];
  CoreSharing& sharing = member.sharing;
  for (uint32_t times = 0;;) {
    if (sharing.IsTurnOver()) sharing.PassTurn();
    if (!SpinUntilChange(member.asked, times, &member.asker_core,
                         sharing.is_shared() ? kSpinSharingMax : kSpinMax)) {
      SleepUntilChange(member.asked, times);
      sharing.BeginTurn();
    }
    const int core = sched_getcpu();
    member.core.store(core, std::memory_order_relaxed);
    const bool is_shared = core == member.asker_core.load(std::memory_order_relaxed);
    if (is_shared && processors_.empty()) sharing.LeaveCore(core);
    if (member.is_whole.load(std::memory_order_relaxed) && sharing.IsTurnOver(kWholeWork)) {
      sharing.PassTurn();
      continue;
    }
    times = member.asked.load(std::memory_order_acquire);
    uint32_t before = times - 1;
    if (!member.taken.compare_exchange_strong(before, times)) continue;  // left out
    const Work work = member.work;
    if (work.run == nullptr) return;
    place = {this, thread, work.width};
    (*work.run)(work.group);
    if (member.is_awaited.exchange(false)) sharing.NoteAwaited();
    // Sequentially consistent, so that whoever sleeps is seen (std::atomic::wait).
    member.done.store(times);
    member.done.notify_one();
  }
}

int Team::FreeThreads(int width) const {
  int free = 0;
  for (int thread = 0; thread < threads(); ++thread) {
    free = is_taken_[thread] ? 0 : free + 1;
    if (free == width) return thread + 1 - width;
  }
  return -1;
}

int Team::TakeThreads(int width) {
  const absl::MutexLock lock(&mutex_);
  const int64_t number = next_number_++;
  int first = -1;
  const auto is_served = [&] {
    mutex_.AssertReaderHeld();
    if (number == served_) first = FreeThreads(width);
    return first >= 0;
  };
  mutex_.Await(absl::Condition(&is_served));
  std::fill_n(is_taken_.begin() + first, width, true);
  ++served_;
  return first;
}

void Team::ReturnThreads(int first, int width) {
  const absl::MutexLock lock(&mutex_);
  std::fill_n(is_taken_.begin() + first, width, false);
}

Team::Lead::Lead(Team& team, int width)
    : team_(team), width_(width), first_(team.TakeThreads(width)) {
  PLAIT_CHECK(place.team == nullptr);
  if (!team_.processors_.empty()) {
    pthread_getaffinity_np(pthread_self(), sizeof(allowed_before_), &allowed_before_);
    StayOn(team.processors_[first_]);
  }
  place = {&team, first_, width};
}

Team::Lead::~Lead() {
  place = {};
  if (!team_.processors_.empty()) {
    pthread_setaffinity_np(pthread_self(), sizeof(allowed_before_), &allowed_before_);
  }
  team_.ReturnThreads(first_, width_);
}

int TeamWidth() { return place.width; }

TeamWidthScope::TeamWidthScope(int width) : before_(place.width) {
  PLAIT_CHECK(1 <= width && width <= place.width);
  place.width = width;
}

TeamWidthScope::~TeamWidthScope() { place.width = before_; }

// Groups that run at once, for as long as the thread that asked for them is in its own.
struct Team::Asked {
  Member& MemberOf(int group) const { return *team->members_[first + group * width]; }

  void Ask(int group) const {
    Member& member = MemberOf(group);
    member.work = {work, group, width};
    member.is_whole.store(is_whole, std::memory_order_relaxed);
    member.asker_core.store(sched_getcpu(), std::memory_order_relaxed);
    // Sequentially consistent, so that whoever sleeps is seen.
    member.asked.store(member.asked.load(std::memory_order_relaxed) + 1);
    member.asked.notify_one();
  }

  // Whether nobody is to be asked: members share their cores, and the calling thread does too, or
  // the work is long.
  bool IsBetterAlone(Late late) const {
    if (late == Late::kAwait) return false;
    bool do_members_share = false;
    for (int group = 1; group < groups; ++group) {
      do_members_share = do_members_share || MemberOf(group).sharing.is_shared();
    }
    if (do_members_share && late == Late::kTakeOverLong) return true;
    return team->members_[first]->crowd.IsCrowded(do_members_share);
  }

  Team* const team;
  const int first;  // thread
  const int width;
  const absl::FunctionRef<void(int group)>* const work;
  const int groups;
  const bool is_whole;
  bool is_left = false;  // to the calling thread: nobody is asked
};
thread_local Team::Asked* Team::asked_now_ = nullptr;

void Team::RunOnMembers(int groups, int width, absl::FunctionRef<void(int group)> work, Late late) {
  PLAIT_CHECK(groups * width <= place.width);
  const auto run = [&](int group) {
    const TeamWidthScope scope(width);
    work(group);
  };
  if (groups == 1) return run(0);
  Asked asked = {place.team, place.thread, width, &work, groups, late != Late::kLeaveOut};
  asked.is_left = asked.IsBetterAlone(late);
  for (int group = 1; group < groups; ++group) {
    if (!asked.is_left) asked.Ask(group);
  }
  Asked* const outer = std::exchange(asked_now_, &asked);
  run(0);
  asked_now_ = outer;
  for (int group = 1; group < groups; ++group) {
    Member& member = asked.MemberOf(group);
    if (late == Late::kAwait || !(asked.is_left || member.TakeBack())) {
      member.Await();
    } else if (late != Late::kLeaveOut) {
      run(group);
    }
  }
}

void Team::AskThoseThatRest() {
  if (asked_now_ == nullptr || !std::exchange(asked_now_->is_left, false)) return;
  for (int group = 1; group < asked_now_->groups; ++group) asked_now_->Ask(group);
}

// Those that have left pieces because their turn was over. Who has the core alone is through with
// the work when there are no more.
void Team::AskThoseThatAreBack() {
  if (asked_now_->is_left) return;
  for (int group = 1; group < asked_now_->groups; ++group) {
    const Member& member = asked_now_->MemberOf(group);
    const uint32_t asked = member.asked.load(std::memory_order_relaxed);
    if (!member.sharing.is_shared()) continue;
    if (member.done.load(std::memory_order_acquire) == asked) asked_now_->Ask(group);
  }
}

bool Team::Member::TakeBack() {
  const uint32_t wanted = asked.load(std::memory_order_relaxed);
  uint32_t before = wanted - 1;
  if (taken.load(std::memory_order_relaxed) != before) return false;
  if (!taken.compare_exchange_strong(before, wanted)) return false;
  done.store(wanted, std::memory_order_relaxed);
  return true;
}

void Team::Member::Await() {
  const uint32_t wanted = asked.load(std::memory_order_relaxed);
  if (done.load(std::memory_order_acquire) == wanted) return;
  if (SpinUntilChange(done, wanted - 1, &core)) return;
  is_awaited.store(true, std::memory_order_relaxed);
  SleepUntilChange(done, wanted - 1);
}

void RunGroups(int groups, int width, absl::FunctionRef<void(int group)> work) {
  Team::RunOnMembers(groups, width, work, Team::Late::kAwait);
}

void RunGroupsAnywhere(int groups, int width, GroupLength length,
                       absl::FunctionRef<void(int group)> work) {
  const bool is_long = length == GroupLength::kLong;
  Team::RunOnMembers(groups, width, work,
                     is_long ? Team::Late::kTakeOverLong : Team::Late::kTakeOver);
}

void AskThoseThatRest() { Team::AskThoseThatRest(); }

void WakeMembers() {
  const int groups = place.width;
  std::atomic<int> awake = 1;
  RunGroupsAnywhere(groups, 1, GroupLength::kBrief, [&](int group) {
    if (group > 0) {
      ++awake;
      return;
    }
    const auto began = std::chrono::steady_clock::now();
    while (awake < groups && std::chrono::steady_clock::now() - began < 2 * kSpinMax) Pause();
  });
}

void NoteAwaited(int group, int width) {
  place.team->members_[place.thread + group * width]->is_awaited.store(true,
                                                                       std::memory_order_relaxed);
}

// Threads wait for each other, so that also those have their pieces that are slow to wake.
void Team::ForEachShuffledPart(
    int width, int64_t count,
    absl::FunctionRef<void(int64_t begin, int64_t end, int thread)> part) {
  const std::vector<std::vector<Piece>> pieces =
      ShuffledPieces(place.team->shuffle_seed_.fetch_add(1), width, count,
                     std::max<int64_t>(1, count / width / kPiecesPerThread));
  RunOnMembers(
      width, 1,
      [&](int thread) {
        for (const Piece& piece : pieces[thread]) part(piece.begin, piece.end, thread);
      },
      Late::kAwait);
}

void ForEachPart(int threads, int64_t count,
                 absl::FunctionRef<void(int64_t begin, int64_t end, int thread)> part) {
  const int width = static_cast<int>(std::min<int64_t>(std::min(threads, place.width), count));
  const bool is_shuffled = place.team != nullptr && place.team->shuffle_seed_ != 0;
  if (is_shuffled && count > 0) return Team::ForEachShuffledPart(width, count, part);
  if (width <= 1) {
    if (count > 0) part(0, count, 0);
    return;
  }
  const auto share = [members = &place.team->members_[place.thread]](int thread) -> Team::Member& {
    return *members[thread];
  };
  for (int thread = 0; thread < width; ++thread) {
    share(thread).next.store(count * thread / width, std::memory_order_relaxed);
    share(thread).end = count * (thread + 1) / width;
  }
  const int64_t piece = std::max<int64_t>(1, count / width / kPiecesPerThread);
  const auto take_pieces = [&](int thread) {
    for (int i = 0; i < width; ++i) {
      Team::Member& owner = share((thread + i) % width);
      for (;;) {
        const int64_t begin = owner.next.fetch_add(piece, std::memory_order_relaxed);
        if (begin >= owner.end) break;
        part(begin, std::min(begin + piece, owner.end), thread);
        if (thread == 0) {
          Team::AskThoseThatAreBack();
        } else if (share(thread).sharing.IsTurnOver()) {
          return;
        }
      }
    }
  };
  // When the calling thread finds no more pieces, a member that has not begun would find none.
  Team::RunOnMembers(width, 1, take_pieces, Team::Late::kLeaveOut);
}

}  // namespace plait
