#include "gpu_worker/backends/cpu/team/openmp.h"

#include <atomic>
#include <chrono>
#include <filesystem>
#include <set>
#include <thread>
#include <vector>

#include "gpu_worker/backends/cpu/onednn/onednn.h"
#include "gpu_worker/backends/cpu/onednn/open_onednn.h"
#include "gpu_worker/backends/cpu/team/team.h"
#include "gtest/gtest.h"

// The functions that oneDNN finds.
extern "C" {
void GOMP_parallel(void (*run)(void*), void* data, unsigned threads, unsigned flags);
void GOMP_barrier();
int omp_get_max_threads();
int omp_get_num_threads();
int omp_get_thread_num();
int omp_in_parallel();
}

namespace plait {
namespace {

TEST(OpenMpTest, OneDnnRunsOnTheTeam) { EXPECT_TRUE(OpenOnednn().ok()); }

TEST(OpenMpTest, ARegionWithoutATeamRunsOnTheCaller) {
  EXPECT_EQ(omp_get_max_threads(), 1);
  int calls = 0;
  GOMP_parallel(
      [](void* data) {
        EXPECT_EQ(omp_get_num_threads(), 1);
        EXPECT_EQ(omp_get_thread_num(), 0);
        EXPECT_EQ(omp_in_parallel(), 0);
        GOMP_barrier();
        ++*static_cast<int*>(data);
      },
      &calls, 4, 0);
  EXPECT_EQ(calls, 1);
}

// What each thread of a region saw.
struct Seen {
  std::atomic<int> before = 0;
  std::atomic<int> numbers = 0;  // a bit for each thread number
};

TEST(OpenMpTest, ARegionHasTheThreadsOfTheTeamAndABarrier) {
  Team team(3, ThreadPlacement::kAnywhere);
  const Team::Lead lead(team);
  EXPECT_EQ(omp_get_max_threads(), 3);
  for (int repeat = 0; repeat < 50; ++repeat) {
    Seen seen;
    GOMP_parallel(
        [](void* data) {
          auto& seen = *static_cast<Seen*>(data);
          EXPECT_EQ(omp_get_num_threads(), 3);
          EXPECT_EQ(omp_in_parallel(), 1);
          seen.numbers |= 1 << omp_get_thread_num();
          for (int round = 1; round <= 3; ++round) {
            ++seen.before;
            GOMP_barrier();
            EXPECT_EQ(seen.before, 3 * round);
            GOMP_barrier();
          }
        },
        &seen, 0, 0);
    EXPECT_EQ(seen.numbers, 0b111);
    EXPECT_EQ(omp_in_parallel(), 0);
  }
}

// Members that others interrupt are asked for nothing for a while, but for what waits at a barrier.
TEST(OpenMpTest, BarriersEndBesideThreadsThatSpin) {
  std::atomic<bool> ends = false;
  const auto spin = [&] {
    while (!ends) {
    }
  };
  std::thread spinners[2] = {std::thread(spin), std::thread(spin)};
  {
    Team team(3, ThreadPlacement::kAnywhere);
    const Team::Lead lead(team);
    const auto began = std::chrono::steady_clock::now();
    while (std::chrono::steady_clock::now() - began < std::chrono::milliseconds(300)) {
      std::atomic<int> arrived = 0;
      GOMP_parallel(
          [](void* data) {
            auto& arrived = *static_cast<std::atomic<int>*>(data);
            ++arrived;
            GOMP_barrier();
            EXPECT_EQ(arrived, 3);
          },
          &arrived, 0, 0);
    }
  }
  ends = true;
  for (std::thread& spinner : spinners) spinner.join();
}

// As oneDNN's matrix products wait: the first thread for a word that another one writes.
TEST(OpenMpTest, ThreadsThatWatchAWordSeeTheOthersBegin) {
  std::atomic<bool> ends = false;
  const auto spin = [&] {
    while (!ends) {
    }
  };
  std::thread spinners[4] = {std::thread(spin), std::thread(spin), std::thread(spin),
                             std::thread(spin)};
  {
    Team team(3, ThreadPlacement::kAnywhere);
    const Team::Lead lead(team);
    const OpenMpWaitScope waits;
    const auto began = std::chrono::steady_clock::now();
    int regions_that_gave_up = 0;
    while (std::chrono::steady_clock::now() - began < std::chrono::milliseconds(1500)) {
      std::atomic<int> arrived = 0;
      GOMP_parallel(
          [](void* data) {
            auto& arrived = *static_cast<std::atomic<int>*>(data);
            ++arrived;
            const auto now = [] { return std::chrono::steady_clock::now(); };
            const bool is_first = omp_get_thread_num() == 0;
            // The others work for a while longer, so that they are interrupted and waited for.
            const auto end = now() + (is_first ? std::chrono::microseconds(10'000'000)
                                               : std::chrono::microseconds(300));
            while ((!is_first || arrived < 3) && now() < end) {
            }
            if (is_first && arrived < 3) arrived = -100;
          },
          &arrived, 0, 0);
      if (arrived != 3) ++regions_that_gave_up;
      if (regions_that_gave_up > 0) break;
    }
    EXPECT_EQ(regions_that_gave_up, 0);
  }
  ends = true;
  for (std::thread& spinner : spinners) spinner.join();
}

TEST(OpenMpTest, ARegionIsAsNarrowAsTheScope) {
  Team team(3, ThreadPlacement::kAnywhere);
  const Team::Lead lead(team);
  const TeamWidthScope scope(2);
  EXPECT_EQ(omp_get_max_threads(), 2);
  std::atomic<int> calls = 0;
  GOMP_parallel([](void* data) { ++*static_cast<std::atomic<int>*>(data); }, &calls, 8, 0);
  EXPECT_EQ(calls, 2);
}

TEST(OpenMpTest, RegionsDoNotNest) {
  Team team(2, ThreadPlacement::kAnywhere);
  const Team::Lead lead(team);
  std::atomic<int> calls = 0;
  GOMP_parallel(
      [](void* data) {
        const int thread = omp_get_thread_num();
        GOMP_parallel(
            [](void* inner) {
              EXPECT_EQ(omp_get_thread_num(), 0);
              ++*static_cast<std::atomic<int>*>(inner);
            },
            data, 2, 0);
        EXPECT_EQ(omp_get_thread_num(), thread);
        EXPECT_EQ(omp_get_num_threads(), 2);
      },
      &calls, 2, 0);
  EXPECT_EQ(calls, 2);
}

int ListedThreads() {
  int threads = 0;
  for ([[maybe_unused]] const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    ++threads;
  }
  return threads;
}

// Those that another test has joined are listed for a moment longer.
int ThreadsOfThisProcess() {
  int threads = ListedThreads();
  for (int times_equal = 0; times_equal < 10; ++times_equal) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    const int listed = ListedThreads();
    if (listed != threads) times_equal = -1;
    threads = listed;
  }
  return threads;
}

// A copy of 8 MiB from one order into another is large enough for oneDNN to divide.
TEST(OpenMpTest, OneDnnStartsNoThreadOfItsOwn) {
  // A sanitizer has one of its own.
  const int threads_before = ThreadsOfThisProcess();
  Team team(2, ThreadPlacement::kAnywhere);
  const Team::Lead lead(team);
  const absl::StatusOr<std::unique_ptr<Onednn>> onednn = Onednn::Create();
  ASSERT_TRUE(onednn.ok()) << onednn.status();
  const dnnl_dims_t shape = {64, 128, 16, 16};
  dnnl_memory_desc_t from, to;
  ASSERT_EQ(dnnl_memory_desc_init_by_tag(&from, 4, shape, dnnl_f32, dnnl_nchw), dnnl_success);
  ASSERT_EQ(dnnl_memory_desc_init_by_tag(&to, 4, shape, dnnl_f32, dnnl_nhwc), dnnl_success);
  std::vector<float> source(size_t{64} * 128 * 16 * 16, 1.0f);
  std::vector<float> target(source.size());
  ASSERT_TRUE((*onednn)->Reorder(from, source.data(), to, target.data()).ok());
  EXPECT_EQ(target, source);
  EXPECT_EQ(ThreadsOfThisProcess(), threads_before + 1);
}

}  // namespace
}  // namespace plait
