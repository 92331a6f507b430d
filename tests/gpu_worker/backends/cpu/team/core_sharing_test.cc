#include "gpu_worker/backends/cpu/team/core_sharing.h"

#include <atomic>
#include <chrono>
#include <thread>

#include <pthread.h>
#include <sched.h>

#include "gpu_worker/backends/cpu/team/crowd.h"
#include "gtest/gtest.h"

namespace plait {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// A system does as it likes for a while, however loaded it is.
constexpr auto kLongEnough = std::chrono::seconds(20);

void WorkFor(Clock::duration time) {
  const auto end = Clock::now() + time;
  while (Clock::now() < end) {
  }
}

// Whether it is so before long; works for 3 ms in between.
template <typename Condition>
bool Becomes(Condition condition) {
  for (const auto end = Clock::now() + kLongEnough; Clock::now() < end; WorkFor(milliseconds(3))) {
    if (condition()) return true;
  }
  return false;
}

// The test's thread on one core, and another one there that spins until it is told to end.
class CoreSharingTest : public testing::Test {
 protected:
  CoreSharingTest() {
    pthread_getaffinity_np(pthread_self(), sizeof(before_), &before_);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    pthread_setaffinity_np(pthread_self(), sizeof(one), &one);
    spinner_ = std::thread([this] {  // stays there, as whoever starts it
      while (!ends_) {
      }
    });
  }
  ~CoreSharingTest() override {
    EndSpinner();
    pthread_setaffinity_np(pthread_self(), sizeof(before_), &before_);
  }

  void EndSpinner() {
    ends_ = true;
    if (spinner_.joinable()) spinner_.join();
  }

  cpu_set_t before_;
  std::atomic<bool> ends_ = false;
  std::thread spinner_;
};

TEST_F(CoreSharingTest, WhoIsInterruptedWorksInTurnsForAsLongAsThereAreOthers) {
  CoreSharing sharing;
  EXPECT_FALSE(sharing.is_shared());
  EXPECT_FALSE(sharing.IsTurnOver());
  sharing.BeginTurn();
  EXPECT_FALSE(sharing.is_shared()) << "nothing is known yet";
  ASSERT_TRUE(Becomes([&] {
    sharing.NoteAwaited();
    return sharing.is_shared();
  }));
  int turns = 0;
  ASSERT_TRUE(Becomes([&] {
    if (sharing.IsTurnOver()) {
      sharing.PassTurn();
      ++turns;
    }
    return turns == 10;
  }));
  EndSpinner();
  ASSERT_TRUE(Becomes([&] {
    if (sharing.IsTurnOver()) sharing.PassTurn();
    return !sharing.is_shared();
  }));
}

// However short turns have become: else such work would never be begun.
TEST_F(CoreSharingTest, AMarginLeavesHalfOfATurn) {
  CoreSharing sharing;
  ASSERT_TRUE(Becomes([&] {
    sharing.NoteAwaited();
    return sharing.is_shared();
  }));
  ASSERT_TRUE(Becomes([&] {
    sharing.PassTurn();
    return !sharing.IsTurnOver(std::chrono::hours(1));
  }));
}

TEST_F(CoreSharingTest, ALeaderThatIsInterruptedTooIsInACrowd) {
  Crowd crowd;
  EXPECT_FALSE(crowd.IsCrowded(false));
  EXPECT_FALSE(crowd.IsCrowded(true)) << "a first look tells nothing";
  ASSERT_TRUE(Becomes([&] { return crowd.IsCrowded(true); }));
  EXPECT_TRUE(crowd.IsCrowded(false)) << "it is remembered";
  EndSpinner();
  EXPECT_TRUE(Becomes([&] { return !crowd.IsCrowded(true); }));
}

}  // namespace
}  // namespace plait
