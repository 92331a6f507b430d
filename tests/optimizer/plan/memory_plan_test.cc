#include "optimizer/plan/memory_plan.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include <gtest/gtest.h>

#include "base/random.h"

namespace plait {
namespace {

TEST(MemoryPlanTest, AChainNeedsTwoBuffers) {
  PartialOrder order;
  std::vector<MemoryRequest> requests;
  for (int step = 0; step < 6; ++step) {
    order.AddStep(0, false, {});
    requests.push_back({100, {step}, step < 5 ? std::vector<int>{step + 1} : std::vector<int>{}});
  }
  EXPECT_EQ(PlanMemory(requests, order).arena_bytes, 2 * 128);
}

// The worked example of memory_plan.cc.
TEST(MemoryPlanTest, TheLargestChoosesFirst) {
  PartialOrder order;
  for (int step = 0; step < 4; ++step) order.AddStep(0, false, {});
  const MemoryPlan plan = PlanMemory({{128, {0}, {1}}, {256, {1}, {2}}, {64, {2}, {3}}}, order);
  EXPECT_EQ(plan.offsets_bytes, (std::vector<int64_t>{256, 0, 256}));
  EXPECT_EQ(plan.arena_bytes, 384);
}

TEST(MemoryPlanTest, StepsThatMayOverlapInTimeShareNothing) {
  PartialOrder order;
  order.AddStep(0, false, {});
  order.AddStep(1, false, {});
  const MemoryPlan plan = PlanMemory({{64, {0}, {}}, {64, {1}, {}}}, order);
  EXPECT_EQ(plan.arena_bytes, 128);
  EXPECT_NE(plan.offsets_bytes[0], plan.offsets_bytes[1]);
}

// Whether all steps that touch `first` have certainly finished when `second` is written.
bool EndsBefore(const MemoryRequest& first, const MemoryRequest& second,
                const PartialOrder& order) {
  bool ends = true;
  for (const int writer : second.writers) {
    for (const int earlier : first.writers) ends = ends && order.Precedes(earlier, writer);
    for (const int reader : first.readers) ends = ends && order.Precedes(reader, writer);
  }
  return ends;
}

// What the header promises, without an index: each request, largest first, at the start of the
// tightest gap between those placed before that it may meet in time.
std::vector<int64_t> PlanByComparingAll(const std::vector<MemoryRequest>& requests,
                                        const PartialOrder& order) {
  std::vector<size_t> largest_first(requests.size());
  std::iota(largest_first.begin(), largest_first.end(), size_t{0});
  std::stable_sort(largest_first.begin(), largest_first.end(), [&](size_t a, size_t b) {
    return requests[a].size_bytes > requests[b].size_bytes;
  });
  const auto rounded = [](int64_t bytes) { return (bytes + 63) / 64 * 64; };
  std::vector<int64_t> offsets(requests.size(), 0);
  std::vector<size_t> placed;
  for (const size_t index : largest_first) {
    std::vector<std::pair<int64_t, int64_t>> taken;
    for (const size_t other : placed) {
      if (EndsBefore(requests[index], requests[other], order)) continue;
      if (EndsBefore(requests[other], requests[index], order)) continue;
      taken.emplace_back(offsets[other], offsets[other] + rounded(requests[other].size_bytes));
    }
    std::sort(taken.begin(), taken.end());
    int64_t end = 0;
    int64_t best = -1;
    int64_t best_gap = 0;
    for (const auto& [first, past] : taken) {
      const int64_t gap = first - end;
      if (gap >= rounded(requests[index].size_bytes) && (best < 0 || gap < best_gap)) {
        best = end;
        best_gap = gap;
      }
      end = std::max(end, past);
    }
    offsets[index] = best < 0 ? end : best;
    placed.push_back(index);
  }
  return offsets;
}

TEST(MemoryPlanTest, GivesWhatComparingAllRequestsGives) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    Random random(seed);
    PartialOrder order;
    const int steps = static_cast<int>(random.Integer(1, 120));
    const int streams = static_cast<int>(random.Integer(1, 4));
    for (int step = 0; step < steps; ++step) {
      std::vector<int> waits;
      if (step > 0 && random.Integer(0, 2) == 0) {
        waits.push_back(static_cast<int>(random.Integer(std::max(0, step - 8), step - 1)));
      }
      order.AddStep(static_cast<int>(random.Integer(0, streams - 1)), random.Integer(0, 14) == 0,
                    waits);
    }
    std::vector<MemoryRequest> requests;
    for (int i = 0; i < 80; ++i) {
      const int writer = static_cast<int>(random.Integer(0, steps - 1));
      MemoryRequest request{random.Integer(1, 1000), {writer}, {}};
      if (random.Integer(0, 5) == 0) {
        request.writers.push_back(static_cast<int>(random.Integer(writer, steps - 1)));
      }
      for (int64_t reader = random.Integer(0, 2); reader > 0; --reader) {
        // Mostly soon, sometimes at the end.
        const int64_t latest = random.Integer(0, 5) == 0 ? steps - 1 : writer + 6;
        request.readers.push_back(
            static_cast<int>(random.Integer(writer, std::min<int64_t>(steps - 1, latest))));
      }
      requests.push_back(request);
    }
    EXPECT_EQ(PlanMemory(requests, order).offsets_bytes, PlanByComparingAll(requests, order))
        << "seed " << seed;
  }
}

}  // namespace
}  // namespace plait
