#include "gpu_worker/backends/cpu/team/team.h"

#include <algorithm>
#include <atomic>
#include <set>
#include <thread>

#include <pthread.h>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plait {
namespace {

TEST(TeamTest, ACallerWithoutATeamWorksAlone) {
  EXPECT_EQ(TeamWidth(), 1);
  int calls = 0;
  ForEachPart(8, 100, [&](int64_t begin, int64_t end, int thread) {
    EXPECT_EQ(begin, 0);
    EXPECT_EQ(end, 100);
    EXPECT_EQ(thread, 0);
    ++calls;
  });
  RunGroups(1, 1, [&](int) { ++calls; });
  EXPECT_EQ(calls, 2);
}

TEST(TeamTest, EachGroupRunsOnAThreadOfItsOwn) {
  Team team(4, ThreadPlacement::kAnywhere);
  const Team::Lead lead(team);
  std::vector<std::thread::id> ids(4);
  RunGroups(4, 1, [&](int group) {
    ids[group] = std::this_thread::get_id();
    EXPECT_EQ(TeamWidth(), 1);
  });
  EXPECT_EQ(ids[0], std::this_thread::get_id());
  EXPECT_EQ(std::set(ids.begin(), ids.end()).size(), 4u);
  EXPECT_EQ(TeamWidth(), 4);
}

// The same threads again and again, and every piece once, by whatever number of threads and pieces.
TEST(TeamTest, PartsCoverTheWorkOnce) {
  for (const int threads : {1, 2, 3, 5}) {
    Team team(threads, ThreadPlacement::kAnywhere);
    const Team::Lead lead(team);
    for (const int64_t count : {0, 1, 2, 3, 7, 64, 1001}) {
      std::vector<std::atomic<int>> calls(static_cast<size_t>(count));
      ForEachPart(threads, count, [&](int64_t begin, int64_t end, int thread) {
        EXPECT_LT(begin, end);
        EXPECT_LT(thread, threads);
        for (int64_t i = begin; i < end; ++i) ++calls[i];
      });
      for (const std::atomic<int>& number : calls) EXPECT_EQ(number, 1);
    }
  }
}

// The pieces of a few divisions of work, in the order in which each thread has them.
std::vector<std::vector<int64_t>> ShuffledPieces(uint64_t seed) {
  constexpr int kThreads = 3;
  constexpr int64_t kCount = 1001;
  Team team(kThreads, ThreadPlacement::kAnywhere);
  team.ShufflePieces(seed);
  const Team::Lead lead(team);
  std::vector<std::vector<int64_t>> begins(kThreads);
  for (int repeat = 0; repeat < 3; ++repeat) {
    std::vector<std::atomic<int>> calls(static_cast<size_t>(kCount));
    ForEachPart(kThreads, kCount, [&](int64_t begin, int64_t end, int thread) {
      begins[thread].push_back(begin);
      for (int64_t i = begin; i < end; ++i) ++calls[i];
    });
    for (const std::atomic<int>& number : calls) EXPECT_EQ(number, 1);
  }
  return begins;
}

TEST(TeamTest, ShuffledPiecesCoverTheWorkOnceInAnOrderThatFollowsFromTheSeed) {
  const std::vector<std::vector<int64_t>> begins = ShuffledPieces(1);
  for (const std::vector<int64_t>& of_thread : begins) {
    EXPECT_FALSE(of_thread.empty()) << "each thread has pieces";
    EXPECT_FALSE(std::is_sorted(of_thread.begin(), of_thread.end()));
  }
  EXPECT_EQ(ShuffledPieces(1), begins);
  EXPECT_NE(ShuffledPieces(2), begins);
}

TEST(TeamTest, ALeaderWithoutMembersHasShuffledPiecesToo) {
  Team team(1, ThreadPlacement::kAnywhere);
  team.ShufflePieces(1);
  const Team::Lead lead(team);
  std::vector<int64_t> begins;
  ForEachPart(1, 100, [&](int64_t begin, int64_t, int) { begins.push_back(begin); });
  EXPECT_GT(begins.size(), 1u);
  EXPECT_FALSE(std::is_sorted(begins.begin(), begins.end()));
}

TEST(TeamTest, NoThreadNumberIsUsedTwiceAtATime) {
  Team team(3, ThreadPlacement::kAnywhere);
  const Team::Lead lead(team);
  std::vector<std::atomic<int>> users(3);
  for (int repeat = 0; repeat < 100; ++repeat) {
    ForEachPart(3, 50, [&](int64_t, int64_t, int thread) {
      EXPECT_EQ(users[thread].fetch_add(1), 0);
      std::this_thread::yield();
      users[thread].fetch_sub(1);
    });
  }
}

// Thread 0 waits in its first piece until everything else is done, which others must have taken
// from its part.
TEST(TeamTest, AThreadThatIsHeldUpLosesItsPartToTheOthers) {
  Team team(2, ThreadPlacement::kAnywhere);
  const Team::Lead lead(team);
  constexpr int64_t kCount = 80;
  constexpr int64_t kPiece = 10;  // four of each thread
  std::atomic<int64_t> done = 0;
  ForEachPart(2, kCount, [&](int64_t begin, int64_t end, int) {
    if (begin == 0) {
      while (done < kCount - kPiece) std::this_thread::yield();
    }
    done += end - begin;
  });
  EXPECT_EQ(done, kCount);
}

// On one core the member often has not begun when thread 0 is through, and is left out; once it is
// awake it must do nothing of what was left out, and all that it is asked for later.
TEST(TeamTest, WorkIsDoneOnceWhereAMemberComesTooLate) {
  cpu_set_t before, one;
  pthread_getaffinity_np(pthread_self(), sizeof(before), &before);
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  pthread_setaffinity_np(pthread_self(), sizeof(one), &one);
  {
    Team team(3, ThreadPlacement::kAnywhere);
    const Team::Lead lead(team);
    for (int repeat = 0; repeat < 2000; ++repeat) {
      const int64_t count = 2 + repeat % 30;
      std::vector<std::atomic<int>> calls(count);
      ForEachPart(3, count, [&](int64_t begin, int64_t end, int) {
        for (int64_t i = begin; i < end; ++i) ++calls[i];
      });
      for (const std::atomic<int>& call : calls) ASSERT_EQ(call, 1);
      if (repeat % 100 > 0) continue;
      std::atomic<int> groups = 0;
      RunGroups(3, 1, [&](int) { ++groups; });
      ASSERT_EQ(groups, 3);
    }
  }
  pthread_setaffinity_np(pthread_self(), sizeof(before), &before);
}

// Members that share their core leave it in the midst of divided work, and come back to it.
TEST(TeamTest, PartsAreDoneOnceBesideThreadsThatSpin) {
  for (const int spinners : {1, 4}) {
    std::atomic<bool> ends = false;
    std::vector<std::thread> threads;
    for (int i = 0; i < spinners; ++i) {
      threads.emplace_back([&] {
        while (!ends) {
        }
      });
    }
    {
      Team team(3, ThreadPlacement::kAnywhere);
      const Team::Lead lead(team);
      for (int repeat = 0; repeat < 300; ++repeat) {
        std::vector<std::atomic<int>> calls(200);
        ForEachPart(3, 200, [&](int64_t begin, int64_t end, int) {
          for (int64_t i = begin; i < end; ++i) {
            ++calls[i];
            const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(5);
            while (std::chrono::steady_clock::now() < until) {
            }
          }
        });
        for (const std::atomic<int>& call : calls) ASSERT_EQ(call, 1);
      }
    }
    ends = true;
    for (std::thread& thread : threads) thread.join();
  }
}

// Neither do groups that cannot be left wait for anybody, nor are they begun twice.
TEST(TeamTest, GroupsRunOnceBesideAThreadThatSpins) {
  std::atomic<bool> ends = false;
  std::thread spinner([&] {
    while (!ends) {
    }
  });
  {
    Team team(3, ThreadPlacement::kAnywhere);
    const Team::Lead lead(team);
    for (int repeat = 0; repeat < 3000; ++repeat) {
      const GroupLength length = repeat % 3 == 0 ? GroupLength::kLong : GroupLength::kBrief;
      std::atomic<int> calls[3] = {};
      RunGroupsAnywhere(3, 1, length, [&](int group) {
        ++calls[group];
        if (group == 0) NoteAwaited(1 + repeat % 2, 1);
      });
      for (const std::atomic<int>& call : calls) ASSERT_EQ(call, 1);
    }
  }
  ends = true;
  spinner.join();
}

// Two branches of two threads each, as a plan of four threads has them.
TEST(TeamTest, GroupsLeadThreadsOfTheirOwn) {
  Team team(4, ThreadPlacement::kAnywhere);
  const Team::Lead lead(team);
  std::vector<std::atomic<int64_t>> sums(2);
  RunGroups(2, 2, [&](int group) {
    EXPECT_EQ(TeamWidth(), 2);
    for (int repeat = 0; repeat < 100; ++repeat) {
      ForEachPart(2, 10, [&](int64_t begin, int64_t end, int thread) {
        EXPECT_LT(thread, 2);
        sums[group] += end - begin;
      });
    }
  });
  EXPECT_EQ(sums[0], 1000);
  EXPECT_EQ(sums[1], 1000);
}

TEST(TeamTest, AScopeNarrowsWhatIsLed) {
  Team team(3, ThreadPlacement::kAnywhere);
  const Team::Lead lead(team);
  {
    const TeamWidthScope scope(2);
    EXPECT_EQ(TeamWidth(), 2);
    ForEachPart(3, 9, [](int64_t, int64_t, int thread) { EXPECT_LT(thread, 2); });
  }
  EXPECT_EQ(TeamWidth(), 3);
}

TEST(TeamTest, TwoTeamsWorkAtTheSameTime) {
  std::vector<std::atomic<int64_t>> sums(2);
  std::vector<std::jthread> leaders;
  for (int i = 0; i < 2; ++i) {
    leaders.emplace_back([&sums, i] {
      Team team(2, ThreadPlacement::kAnywhere);
      for (int repeat = 0; repeat < 200; ++repeat) {
        const Team::Lead lead(team);
        ForEachPart(2, 100, [&](int64_t begin, int64_t end, int) { sums[i] += end - begin; });
      }
    });
  }
  leaders.clear();
  EXPECT_EQ(sums[0], 20000);
  EXPECT_EQ(sums[1], 20000);
}

// What callers lead at the same time never adds up to more than the team, and each has threads of
// its own.
TEST(TeamTest, CallersLeadPartsOfTheTeamSideBySide) {
  constexpr int kThreads = 4;
  Team team(kThreads, ThreadPlacement::kAnywhere);
  std::atomic<int> led = 0;
  std::atomic<int64_t> sum = 0;
  std::vector<std::jthread> callers;
  for (int caller = 0; caller < 6; ++caller) {
    callers.emplace_back([&, width = caller % kThreads + 1] {
      for (int repeat = 0; repeat < 50; ++repeat) {
        const Team::Lead lead(team, width);
        EXPECT_LE(led += width, kThreads);
        EXPECT_EQ(TeamWidth(), width);
        std::vector<std::atomic<int>> users(static_cast<size_t>(width));
        ForEachPart(kThreads, 20, [&](int64_t begin, int64_t end, int thread) {
          EXPECT_EQ(users[thread].fetch_add(1), 0);
          sum += end - begin;
          users[thread].fetch_sub(1);
        });
        led -= width;
      }
    });
  }
  callers.clear();
  EXPECT_EQ(sum, 6 * 50 * 20);
}

TEST(TeamTest, TwoCallersOfHalfATeamDoNotWaitForEachOther) {
  Team team(2, ThreadPlacement::kAnywhere);
  std::atomic<int> leading = 0;
  std::vector<std::jthread> callers;
  for (int i = 0; i < 2; ++i) {
    callers.emplace_back([&] {
      const Team::Lead lead(team, 1);
      ++leading;
      // Ends when both lead.
      while (leading < 2) std::this_thread::yield();
    });
  }
  callers.clear();
  EXPECT_EQ(leading, 2);
}

// Narrow callers that follow each other without a gap would otherwise keep it waiting for ever.
TEST(TeamTest, AWideCallerIsServedInItsTurn) {
  Team team(2, ThreadPlacement::kAnywhere);
  std::atomic<bool> served = false;
  std::vector<std::jthread> callers;
  for (int i = 0; i < 2; ++i) {
    callers.emplace_back([&] {
      while (!served) const Team::Lead lead(team, 1);
    });
  }
  {
    const Team::Lead lead(team);
    served = true;
  }
  callers.clear();
  EXPECT_TRUE(served);
}

// Longer than it spins.
TEST(TeamTest, AThreadThatSleepsIsWokenUp) {
  Team team(2, ThreadPlacement::kAnywhere);
  const Team::Lead lead(team);
  for (int repeat = 0; repeat < 5; ++repeat) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    std::atomic<int> runs = 0;
    RunGroups(2, 1, [&](int) { ++runs; });
    EXPECT_EQ(runs, 2);
  }
}

std::vector<int> ProcessorsOfThisThread() {
  cpu_set_t set;
  CPU_ZERO(&set);
  pthread_getaffinity_np(pthread_self(), sizeof(set), &set);
  std::vector<int> processors;
  for (int i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(i, &set)) processors.push_back(i);
  }
  return processors;
}

TEST(TeamTest, PinnedThreadsHaveAProcessorEachAndTheCallerOnlyWhileItLeads) {
  const std::vector<int> before = ProcessorsOfThisThread();
  const int threads = std::min<int>(2, static_cast<int>(before.size()));
  Team team(threads, ThreadPlacement::kPinned);
  {
    const Team::Lead lead(team);
    std::vector<std::vector<int>> processors(static_cast<size_t>(threads));
    RunGroups(threads, 1, [&](int group) { processors[group] = ProcessorsOfThisThread(); });
    for (int i = 0; i < threads; ++i) EXPECT_THAT(processors[i], testing::ElementsAre(before[i]));
  }
  EXPECT_EQ(ProcessorsOfThisThread(), before);
}

TEST(TeamTest, MoreThreadsThanProcessorsAreNotPinned) {
  const std::vector<int> before = ProcessorsOfThisThread();
  Team team(static_cast<int>(before.size()) + 1, ThreadPlacement::kPinned);
  const Team::Lead lead(team);
  EXPECT_EQ(ProcessorsOfThisThread(), before);
}

}  // namespace
}  // namespace plait
