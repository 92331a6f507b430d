#include "base/parallel_for.h"

#include <atomic>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace plait {
namespace {

TEST(ParallelForTest, CallsEveryIndexOnce) {
  for (const int threads : {0, 1, 2, 7, 64}) {
    for (const int count : {0, 1, 2, 63, 1000}) {
      std::vector<std::atomic<int>> calls(static_cast<size_t>(count));
      ParallelFor(threads, count, [&](int index) { ++calls[static_cast<size_t>(index)]; });
      for (const std::atomic<int>& called : calls) {
        EXPECT_EQ(called.load(), 1) << threads << " threads, " << count << " indices";
      }
    }
  }
}

TEST(ParallelForTest, OneThreadIsTheCallersAndWorksInOrder) {
  const std::thread::id caller = std::this_thread::get_id();
  std::vector<int> order;
  ParallelFor(1, 5, [&](int index) {
    EXPECT_EQ(std::this_thread::get_id(), caller);
    order.push_back(index);
  });
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4}));
}

TEST(ParallelForTest, ThreadsWorkAtTheSameTime) {
  // Each of the two waits for the other, so that one thread alone would never come to an end.
  std::atomic<int> arrived{0};
  ParallelFor(2, 2, [&](int) {
    ++arrived;
    while (arrived.load() < 2) std::this_thread::yield();
  });
  EXPECT_EQ(arrived.load(), 2);
}

}  // namespace
}  // namespace plait
