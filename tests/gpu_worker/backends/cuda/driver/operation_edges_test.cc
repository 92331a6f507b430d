#include "gpu_worker/backends/cuda/driver/operation_edges.h"

#include <algorithm>
#include <random>

#include "gtest/gtest.h"

namespace plait::cuda {
namespace {

// Which operations each one is behind, by full edges.
std::vector<std::vector<bool>> Behind(const OperationEdges::Pairs& pairs, int operations) {
  std::vector<std::vector<bool>> behind(operations, std::vector<bool>(operations, false));
  for (const auto& [ends, data] : pairs) behind[ends.second][ends.first] = data.type == 0;
  // Warshall's algorithm.
  for (int k = 0; k < operations; ++k) {
    for (int a = 0; a < operations; ++a) {
      for (int b = 0; b < operations && behind[a][k]; ++b) {
        if (behind[k][b]) behind[a][b] = true;
      }
    }
  }
  return behind;
}

// Random graphs: what is left orders as much as what was asked for, and none of it is implied.
TEST(OperationEdgesTest, ReducedOrdersAllThatWasAskedForAndNoMore) {
  std::mt19937 random(3);
  for (int trial = 0; trial < 60; ++trial) {
    const int count = 2 + static_cast<int>(random() % 14);
    std::vector<int> numbers(count);
    for (int i = 0; i < count; ++i) numbers[i] = i;
    std::shuffle(numbers.begin(), numbers.end(), random);
    OperationEdges edges;
    OperationEdges::Pairs all;
    for (int i = 0; i < 3 * count; ++i) {
      const int a = static_cast<int>(random() % count), b = static_cast<int>(random() % count);
      if (a == b) continue;
      const auto ends = std::pair(numbers[std::min(a, b)], numbers[std::max(a, b)]);
      const EdgeData data = random() % 4 == 0 ? EdgeData{1, 0, 1} : EdgeData{};
      edges.Add(ends.first, ends.second, EdgeReason::kData, data);
      const auto [known, is_new] = all.try_emplace(ends, data);
      if (!is_new && data.type == 0) known->second = data;
    }
    EXPECT_EQ(edges.count(EdgeReason::kData), all.size());
    const std::vector<int> order = edges.Order(count);
    ASSERT_EQ(static_cast<int>(order.size()), count);
    const OperationEdges::Pairs reduced = edges.Reduced(order);
    EXPECT_EQ(Behind(reduced, count), Behind(all, count));
    for (const auto& [ends, data] : reduced) {
      ASSERT_TRUE(all.contains(ends));
      EXPECT_EQ(all.at(ends).type, data.type);
      OperationEdges::Pairs without = reduced;
      without.erase(ends);
      EXPECT_FALSE(Behind(without, count)[ends.second][ends.first]) << "trial " << trial;
    }
  }
}

TEST(OperationEdgesTest, AChainIsLeftOfAllPairs) {
  constexpr int kCount = 200;  // more than a machine word of bits
  OperationEdges edges;
  for (int a = 0; a < kCount; ++a) {
    for (int b = a + 1; b < kCount; ++b) edges.Add(a, b, EdgeReason::kMemoryReuse, {});
  }
  EXPECT_EQ(edges.Reduced(edges.Order(kCount)).size(), static_cast<size_t>(kCount - 1));
}

TEST(OperationEdgesTest, TwoProgrammaticEdgesThatDifferBecomeAFullOne) {
  OperationEdges edges;
  edges.Add(0, 1, EdgeReason::kData, {.from_port = 1, .type = 1});
  edges.Add(0, 1, EdgeReason::kData, {.from_port = 1, .type = 1});
  EXPECT_EQ(edges.Reduced({0, 1}).at({0, 1}).type, 1);
  edges.Add(0, 1, EdgeReason::kData, {.from_port = 2, .type = 1});
  EXPECT_EQ(edges.Reduced({0, 1}).at({0, 1}).type, 0);
  EXPECT_EQ(edges.count(EdgeReason::kData), 1u);
}

TEST(OperationEdgesTest, OrderEndsBeforeACycle) {
  OperationEdges edges;
  edges.Add(0, 1, EdgeReason::kData, {});
  edges.Add(1, 2, EdgeReason::kData, {});
  edges.Add(2, 1, EdgeReason::kData, {});
  EXPECT_EQ(edges.Order(4), (std::vector<int>{0, 3}));
}

}  // namespace
}  // namespace plait::cuda
