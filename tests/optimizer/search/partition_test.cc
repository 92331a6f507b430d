#include "optimizer/search/partition.h"

#include <algorithm>
#include <array>
#include <limits>

#include <gtest/gtest.h>

#include "base/random.h"
#include "optimizer/search/interval_dp.h"
#include "optimizer/search/min_cut.h"
#include "optimizer/search/paired_ratio.h"
#include "optimizer/search/region.h"
#include "tests/fakes/fake_device.h"

namespace plait {
namespace {

TEST(FlowNetworkTest, MinimumCutEqualsTheBestOfAllCuts) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    Random random(seed);
    const int vertices = static_cast<int>(random.Integer(2, 8));
    std::vector<std::array<int64_t, 3>> edges;
    FlowNetwork network(vertices);
    for (int i = 0; i < 3 * vertices; ++i) {
      edges.push_back(
          {random.Integer(0, vertices - 1), random.Integer(0, vertices - 1), random.Integer(0, 9)});
      network.AddEdge(static_cast<int>(edges[i][0]), static_cast<int>(edges[i][1]), edges[i][2]);
    }
    const auto cut_of = [&](const auto& is_first) {
      int64_t capacity = 0;
      for (const auto& [from, to, edge] : edges) {
        if (is_first(from) && !is_first(to)) capacity += edge;
      }
      return capacity;
    };
    int64_t best = std::numeric_limits<int64_t>::max();
    for (int side = 0; side < 1 << vertices; ++side) {
      if ((side & 1) == 0 || (side >> (vertices - 1) & 1) == 1) continue;
      best = std::min(best, cut_of([&](int64_t vertex) { return (side >> vertex & 1) != 0; }));
    }
    EXPECT_EQ(network.MaximumFlow(0, vertices - 1), best) << "seed " << seed;
    const std::vector<bool> reached = network.SourceSide(0);
    EXPECT_EQ(cut_of([&](int64_t vertex) { return reached[vertex]; }), best) << "seed " << seed;
  }
}

// Two residual blocks, one behind the other.
Graph Blocks() {
  return GraphOf(R"(graph {
    input %x: float32[2,8]
    %a = Relu(%x) {}
    %b = Exp(%a) {}
    %c = Tanh(%b) {}
    %d = Add(%a, %c) {}
    %e = Relu(%d) {}
    %f = Exp(%e) {}
    %g = Tanh(%f) {}
    %h = Add(%e, %g) {}
    output %h
  })");
}

TEST(PartitionTest, CutsWhereOneTensorCrosses) {
  EXPECT_EQ(PrintPartition(PartitionGraph(Blocks(), {}, {.leaf_nodes_max = 4})),
            "leaf 0: 0 1 2 3\nleaf 1: 4 5 6 7\n");
}

TEST(PartitionTest, KeepsMatchesWholeWhereItCan) {
  // A match over nodes 3 and 4 forbids the cut between the blocks.
  EXPECT_EQ(PrintPartition(PartitionGraph(Blocks(), {{3, 4}}, {.leaf_nodes_max = 5})),
            "leaf 0: 0 1 2 3 4\nleaf 1: 5 6 7\n");
}

TEST(PartitionTest, MergesNeighboursIntoIntervalsUpToTheLimit) {
  const Partition partition =
      PartitionGraph(Blocks(), {}, {.leaf_nodes_max = 4, .interval_nodes_max = 8});
  EXPECT_EQ(partition.intervals, (std::vector<Interval>{{0, 1}, {0, 2}, {1, 2}}));
  EXPECT_EQ(NodesOf(partition, {0, 2}), (std::vector<NodeId>{0, 1, 2, 3, 4, 5, 6, 7}));
}

std::string RandomText(Random& random, int nodes) {
  std::string text = "graph {\n  input %t0: float32[2,8]\n";
  for (int node = 1; node <= nodes; ++node) {
    const auto any = [&] { return "%t" + std::to_string(random.Integer(0, node - 1)); };
    text += "  %t" + std::to_string(node) + " = Add(" + any() + ", " + any() + ") {}\n";
  }
  return text + "  output %t" + std::to_string(nodes) + ", %t" + std::to_string(nodes - 1) + "\n}";
}

TEST(PartitionTest, LeavesAreSmallConvexAndInOrderOnRandomGraphs) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    Random random(seed);
    const Graph graph = GraphOf(RandomText(random, 30));
    std::vector<std::vector<NodeId>> touched;
    for (NodeId node = 1; node < graph.node_count(); node += 3) touched.push_back({node - 1, node});
    const Partition partition = PartitionGraph(graph, touched, {.leaf_nodes_max = 6});
    std::vector<int> leaf_of(graph.node_count(), -1);
    for (size_t leaf = 0; leaf < partition.leaves.size(); ++leaf) {
      EXPECT_LE(partition.leaves[leaf].size(), 6u);
      for (const NodeId node : partition.leaves[leaf]) {
        EXPECT_EQ(leaf_of[node], -1);
        leaf_of[node] = static_cast<int>(leaf);
      }
    }
    for (NodeId node = 0; node < graph.node_count(); ++node) {
      ASSERT_GE(leaf_of[node], 0);
      for (size_t input = 0; input < graph.node(node).inputs.size(); ++input) {
        const NodeId producer = graph.producer(node, static_cast<int>(input));
        if (producer == kNoNode) continue;
        EXPECT_LE(leaf_of[producer], leaf_of[node]) << "seed " << seed;
      }
    }
  }
}

TEST(RegionTest, StitchingUnchangedRegionsGivesTheSameGraph) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Random random(seed);
    const Graph graph = GraphOf(RandomText(random, 25));
    const Partition partition = PartitionGraph(graph, {}, {.leaf_nodes_max = 5});
    std::vector<Region> regions;
    std::vector<Graph> parts;
    for (const std::vector<NodeId>& leaf : partition.leaves) {
      regions.push_back(MakeRegion(graph, leaf));
      parts.push_back(ExtractRegion(graph, regions.back()));
    }
    const absl::StatusOr<Graph> stitched = Stitch(graph, regions, parts);
    ASSERT_TRUE(stitched.ok()) << stitched.status();
    EXPECT_EQ(stitched->fingerprint(), graph.fingerprint());
    for (size_t i = 0; i < graph.outputs().size(); ++i) {
      EXPECT_EQ(*stitched->tensor(stitched->outputs()[i]).name,
                *graph.tensor(graph.outputs()[i]).name);
    }
  }
}

TEST(RegionTest, RefusesAReplacementWithAnotherBoundary) {
  const Graph graph = Blocks();
  const Region region = MakeRegion(graph, {0, 1, 2, 3, 4, 5, 6, 7});
  const Graph other = GraphOf(
      "graph {\n input %x: float32[2,8]\n %y = Relu(%x) {}\n %z = Exp(%x) {}\n output %y, %z\n}");
  EXPECT_EQ(Stitch(graph, {region}, {other}).status().code(), absl::StatusCode::kInvalidArgument);
}

double BruteForceChainUs(int leaf, int leaf_count, const std::vector<SolvedInterval>& intervals) {
  if (leaf == leaf_count) return 0;
  double best_us = std::numeric_limits<double>::infinity();
  for (const SolvedInterval& solved : intervals) {
    if (solved.interval.first != leaf) continue;
    best_us = std::min(best_us, solved.costs_us[0] +
                                    BruteForceChainUs(solved.interval.end, leaf_count, intervals));
  }
  return best_us;
}

TEST(IntervalDpTest, FindsTheCheapestChainAndTheNextOnes) {
  for (uint64_t seed = 0; seed < 30; ++seed) {
    Random random(seed);
    std::vector<SolvedInterval> intervals;
    for (int first = 0; first < 6; ++first) {
      for (int end = first + 1; end <= std::min(6, first + 3); ++end) {
        const double us = (end - first) * random.Uniform(5, 10);
        intervals.push_back({{first, end}, {us, us + 1}});
      }
    }
    const std::vector<IntervalChain> chains = ChooseIntervals(6, intervals, 3);
    ASSERT_EQ(chains.size(), 3u);
    EXPECT_NEAR(chains[0].cost_us, BruteForceChainUs(0, 6, intervals), 1e-9) << "seed " << seed;
    EXPECT_LE(chains[0].cost_us, chains[1].cost_us);
    EXPECT_LE(chains[1].cost_us, chains[0].cost_us + 1 + 1e-9);
  }
}

TEST(PairedRatioTest, TheIntervalHoldsTheTruthAndNoiseAloneIsNoSpeedup) {
  Random random(1);
  std::vector<double> before_us;
  std::vector<double> after_us;
  std::vector<double> same_us;
  for (int i = 0; i < 40; ++i) {
    before_us.push_back(100 * random.Uniform(0.95, 1.05));
    after_us.push_back(80 * random.Uniform(0.95, 1.05));
    same_us.push_back(100 * random.Uniform(0.95, 1.05));
  }
  const RatioInterval faster = PairedRatio(before_us, after_us, 0);
  EXPECT_LT(faster.low, 1.25);
  EXPECT_GT(faster.high, 1.25);
  EXPECT_GT(faster.low, 1.2);
  EXPECT_LE(PairedRatio(before_us, same_us, 0).low, 1);
}

}  // namespace
}  // namespace plait
