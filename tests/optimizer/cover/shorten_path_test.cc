#include "optimizer/cover/shorten_path.h"

#include <algorithm>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "base/random.h"
#include "optimizer/cost/critical_path_cost.h"
#include "optimizer/cover/cover.h"
#include "optimizer/cover/cover_steps.h"
#include "tests/fakes/fake_device.h"
#include "tests/optimizer/cover/cover_tables.h"

namespace plait {
namespace {

using ::testing::UnorderedElementsAre;

PathCost PathsOf(const Graph& graph, const KernelTable& table, const std::vector<int>& groups) {
  std::vector<CostedStep> steps;
  for (const CoverLaunch& launch : LaunchesOf(graph, CoverTableOf(table), {}, groups)) {
    steps.push_back({launch.latency_us, launch.predecessors});
  }
  return MeasurePaths(steps);
}

// s = Relu(x) + Exp(Tanh(x)), in which either side may take the sum along.
class SumTest : public ::testing::Test {
 protected:
  SumTest() {
    table_.groups_at.resize(graph_.node_count());
    table_.reorders.resize(graph_.tensor_count());
  }

  int Add(const std::vector<NodeId>& nodes, double latency_us, Format to = Format::kPlain) {
    AddGroup(graph_, nodes, Format::kPlain, to, latency_us, table_);
    return static_cast<int>(table_.groups.size()) - 1;
  }

  std::vector<int> Shorten(std::vector<int> groups, int streams = 2) {
    return ShortenPath(graph_, CoverTableOf(table_), {.streams = streams}, std::move(groups));
  }

  const Graph graph_ = GraphOf(R"(graph {
    input %x: float32[4]
    %early = Relu(%x) {}
    %front = Tanh(%x) {}
    %late = Exp(%front) {}
    %s = Add(%early, %late) {}
    output %s
  })");
  KernelTable table_;
};

TEST_F(SumTest, WhatIsReadyLastAdds) {
  const int early = Add({0}, 10), early_adds = Add({0, 3}, 10);
  const int front = Add({1}, 5);
  const int late = Add({2}, 10), late_adds = Add({2, 3}, 10);
  EXPECT_EQ(PathsOf(graph_, table_, {early_adds, front, late}).critical_us, 25);
  EXPECT_THAT(Shorten({early_adds, front, late}), UnorderedElementsAre(early, front, late_adds));
  EXPECT_THAT(Shorten({early, front, late_adds}), UnorderedElementsAre(early, front, late_adds));
  EXPECT_THAT(Shorten({early_adds, front, late}, 1), UnorderedElementsAre(early_adds, front, late));
}

TEST_F(SumTest, ALongerSumHasToPay) {
  const int early = Add({0}, 10), early_adds = Add({0, 3}, 10);
  const int front = Add({1}, 5);
  // The path is shorter by 2 us, and the sum longer by 3.
  const int late = Add({2}, 10), late_adds = Add({2, 3}, 13);
  EXPECT_THAT(Shorten({early_adds, front, late}), UnorderedElementsAre(early_adds, front, late));
  EXPECT_THAT(Shorten({early_adds, front, late}, 4), UnorderedElementsAre(early, front, late_adds));
}

TEST_F(SumTest, FormatsStay) {
  Add({0}, 10);
  const int early_adds = Add({0, 3}, 10), front = Add({1}, 5), late = Add({2}, 10);
  Add({2, 3}, 10, Format::kChannelsLast);
  EXPECT_THAT(Shorten({early_adds, front, late}), UnorderedElementsAre(early_adds, front, late));
}

// Layers of nodes that each read two of the layer before.
Graph RandomGraph(Random& random) {
  std::string text = "graph {\n  input %n0: float32[4]\n";
  constexpr int kNodes = 14;
  for (int node = 1; node <= kNodes; ++node) {
    const auto earlier = [&] { return static_cast<int>(random.Integer(0, std::min(node, 4) - 1)); };
    const int one = node - 1 - earlier(), other = node - 1 - earlier();
    absl::StrAppend(&text, "  %n", node, " = ",
                    one == other ? absl::StrCat("Relu(%n", one, ") {}\n")
                                 : absl::StrCat("Add(%n", one, ", %n", other, ") {}\n"));
  }
  return GraphOf(absl::StrCat(text, "  output %n", kNodes, "\n}"));
}

TEST(ShortenPathTest, RandomCoversStayCoversAndGetNoLonger) {
  int shorter = 0;
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    Random random(seed);
    const Graph graph = RandomGraph(random);
    const KernelTable table = RandomTable(graph, random);
    const CoverTable slim = CoverTableOf(table);
    const absl::StatusOr<std::vector<int>> groups = ChooseGroups(graph, slim, {});
    ASSERT_TRUE(groups.ok()) << groups.status();
    const std::vector<int> shortened = ShortenPath(graph, slim, {.streams = 3}, *groups);
    EXPECT_EQ(ShortenPath(graph, slim, {.streams = 3}, *groups), shortened) << "seed " << seed;
    std::vector<NodeId> nodes;
    for (const int group : shortened) {
      const auto& of_group = table.groups[group].nodes;
      nodes.insert(nodes.end(), of_group.begin(), of_group.end());
    }
    std::sort(nodes.begin(), nodes.end());
    ASSERT_EQ(nodes.size(), graph.node_count()) << "seed " << seed;
    EXPECT_TRUE(std::adjacent_find(nodes.begin(), nodes.end()) == nodes.end()) << "seed " << seed;
    ASSERT_TRUE(CanRun(graph, table, shortened)) << "seed " << seed;
    const PathCost before = PathsOf(graph, table, *groups);
    const PathCost after = PathsOf(graph, table, shortened);
    EXPECT_LE(after.ParallelBoundUs(3), before.ParallelBoundUs(3) + 1e-6) << "seed " << seed;
    if (after.critical_us < before.critical_us - 1e-6) ++shorter;
  }
  EXPECT_GT(shorter, 10);
}

}  // namespace
}  // namespace plait
