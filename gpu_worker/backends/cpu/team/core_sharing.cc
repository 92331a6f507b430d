#include "gpu_worker/backends/cpu/team/core_sharing.h"

#include <algorithm>

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include "gpu_worker/backends/cpu/team/waiting_time.h"

namespace plait {
namespace {

constexpr auto kMoveEvery = std::chrono::milliseconds(1);
constexpr auto kLookEvery = std::chrono::milliseconds(2);
constexpr int kPartOfTime = 5;
// Nearly a turn of a program; what the system itself does takes less.
constexpr auto kWaitedMin = std::chrono::microseconds(1500);
// What no idle core makes anybody wait.
constexpr auto kWaitedForOthers = std::chrono::microseconds(500);
// After that it is found out anew, at the price of one interruption if it is still so. Who has
// waited was not interrupted for that, and may have waited for a program that is through.
constexpr auto kSharedAfterInterruption = std::chrono::milliseconds(100);
constexpr auto kSharedAfterWaiting = std::chrono::milliseconds(30);
// Most systems look for who is next every 4 ms; others find shorter turns by being interrupted.
constexpr CoreSharing::Duration kTurnMax = std::chrono::microseconds(3400);
constexpr CoreSharing::Duration kTurnMin = std::chrono::microseconds(500);

int64_t Nanoseconds(std::chrono::steady_clock::time_point time) {
  return std::chrono::nanoseconds(time.time_since_epoch()).count();
}

}  // namespace

CoreSharing::~CoreSharing() {
  if (file_ >= 0) close(file_);
}

bool CoreSharing::is_shared() const {
  const int64_t until_ns = shared_until_ns_.load(std::memory_order_relaxed);
  return until_ns != 0 && Nanoseconds(Clock::now()) < until_ns;
}

void CoreSharing::NoteAwaited() {
  const Clock::duration since = Clock::now() - looked_;
  if (since < kLookEvery) return;
  const std::chrono::nanoseconds waited = Look();
  if (waited <= kWaitedMin || waited * kPartOfTime <= since) return;
  turn_ = is_shared() ? std::max(kTurnMin, turn_ * 3 / 4) : kTurnMax;
  shared_until_ns_ = Nanoseconds(looked_ + kSharedAfterInterruption);
  StartTurn();
}

void CoreSharing::BeginTurn() {
  if (shared_until_ns_.load(std::memory_order_relaxed) == 0) return;
  NoteWaiting();
  if (is_shared()) {
    StartTurn();
  } else {
    shared_until_ns_ = 0;
  }
}

bool CoreSharing::IsTurnOver(Duration margin) const {
  return is_shared() && Clock::now() + std::min(margin, turn_ / 2) >= turn_end_;
}

void CoreSharing::PassTurn() {
  // One that was interrupted has its next turn already.
  if (!NoteWaiting()) {
    sched_yield();
    NoteWaiting();
  }
  StartTurn();
}

std::chrono::nanoseconds CoreSharing::Look() {
  const std::chrono::nanoseconds before = waited_;
  looked_ = Clock::now();
  waited_ = Waited();
  return waited_ - before;
}

bool CoreSharing::NoteWaiting() {
  if (Look() < kWaitedForOthers) return false;
  shared_until_ns_ = std::max(shared_until_ns_.load(), Nanoseconds(looked_ + kSharedAfterWaiting));
  return true;
}

// Turns that were made shorter become longer again, little by little.
void CoreSharing::StartTurn() {
  turn_ = std::min(kTurnMax, turn_ + turn_ / 64);
  turn_end_ = Clock::now() + turn_;
}

void CoreSharing::LeaveCore(int core) {
  const Clock::time_point now = Clock::now();
  if (now - moved_ < kMoveEvery) return;
  moved_ = now;
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (pthread_getaffinity_np(pthread_self(), sizeof(allowed), &allowed) != 0) return;
  cpu_set_t others = allowed;
  CPU_CLR(core, &others);
  if (CPU_COUNT(&others) == 0) return;
  pthread_setaffinity_np(pthread_self(), sizeof(others), &others);
  pthread_setaffinity_np(pthread_self(), sizeof(allowed), &allowed);
}

std::chrono::nanoseconds CoreSharing::Waited() {
  if (file_ < 0) file_ = OpenWaitingTime();
  return ReadWaitingTime(file_).value_or(waited_);
}

}  // namespace plait
