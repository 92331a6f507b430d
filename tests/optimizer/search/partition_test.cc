#include "optimizer/search/partition.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/random.h"
#include "optimizer/search/region.h"
#include "tests/optimizer/search/examples.h"

namespace plait {
namespace {

TEST(PartitionTest, CutsWhereOneTensorCrosses) {
  EXPECT_EQ(PrintPartition(PartitionGraph(Blocks(), {}, {.leaf_nodes_max = 4})),
            "leaf 0: 0 1 2 3\nleaf 1: 4 5 6 7\n");
}

// The worked example of partition.cc.
TEST(PartitionTest, WorksOnTheExample) {
  const Graph graph = GraphOf(R"(graph {
    input %x: float32[2,8]
    %a = Relu(%x) {}
    %b = Exp(%a) {}
    %c = Tanh(%b) {}
    %d = Add(%a, %c) {}
    %e = Relu(%d) {}
    output %e
  })");
  EXPECT_EQ(PrintPartition(PartitionGraph(graph, {}, {.leaf_nodes_max = 4})),
            "leaf 0: 0 1 2 3\nleaf 1: 4\n");
  EXPECT_EQ(PrintPartition(PartitionGraph(graph, {{3, 4}}, {.leaf_nodes_max = 4})),
            "leaf 0: 0\nleaf 1: 1 2 3 4\n");
  // No position is free of matches. Behind %b the tensor %a would be cut too: %d is cheaper, until
  // more matches reach over it. Those of %a and %b lie before both cuts.
  std::vector<std::vector<NodeId>> touched = {{0, 1}, {0, 1}, {1, 2}, {2, 3}, {2, 3}, {3, 4}};
  EXPECT_EQ(PrintPartition(PartitionGraph(graph, touched, {.leaf_nodes_max = 4})),
            "leaf 0: 0 1 2 3\nleaf 1: 4\n");
  touched.push_back({3, 4});
  EXPECT_EQ(PrintPartition(PartitionGraph(graph, touched, {.leaf_nodes_max = 4})),
            "leaf 0: 0 1\nleaf 1: 2 3 4\n");
}

TEST(PartitionTest, KeepsMatchesWholeWhereItCan) {
  // A match over nodes 3 and 4 forbids the cut between the blocks.
  EXPECT_EQ(PrintPartition(PartitionGraph(Blocks(), {{3, 4}}, {.leaf_nodes_max = 5})),
            "leaf 0: 0 1 2 3 4\nleaf 1: 5 6 7\n");
}

// Two branches of %p. Merging their first nodes, 1 and 4, is a match although neither reads the
// other; a cut between the branches costs no vertex more than one across them.
TEST(PartitionTest, KeepsSiblingsOfAMatchTogether) {
  const Graph graph = GraphOf(R"(graph {
    input %x: float32[2,8]
    %p = Relu(%x) {}
    %a1 = Tanh(%p) {}
    %a2 = Exp(%a1) {}
    %a3 = Abs(%a2) {}
    %b1 = Tanh(%p) {}
    %b2 = Neg(%b1) {}
    %b3 = Abs(%b2) {}
    %y = Add(%a3, %b3) {}
    output %y
  })");
  EXPECT_EQ(PrintPartition(PartitionGraph(graph, {}, {.leaf_nodes_max = 4})),
            "leaf 0: 0 1 2 3\nleaf 1: 4 5 6 7\n");
  EXPECT_EQ(PrintPartition(PartitionGraph(graph, {{1, 4}}, {.leaf_nodes_max = 4})),
            "leaf 0: 0 1 2 4\nleaf 1: 3 5 6 7\n");
}

// No region could hold it: the cut between the blocks loses nothing.
TEST(PartitionTest, AMatchOfMoreNodesThanAnIntervalForbidsNoCut) {
  const std::vector<std::vector<NodeId>> touched = {{1, 2, 3, 4, 5}};
  EXPECT_EQ(PrintPartition(
                PartitionGraph(Blocks(), touched, {.leaf_nodes_max = 4, .interval_nodes_max = 4})),
            "leaf 0: 0 1 2 3\nleaf 1: 4 5 6 7\n");
}

// Any two of the siblings of a wide graph merge. Flows through as many matches take minutes.
TEST(PartitionTest, CutsInTheMiddleWhenNoLooksAreLeft) {
  constexpr int kSiblings = 300;
  std::string text = "graph {\n  input %x: float32[2,8]\n";
  std::vector<std::string> outputs;
  std::vector<std::vector<NodeId>> touched;
  for (int i = 0; i < kSiblings; ++i) {
    absl::StrAppend(&text, "  %a", i, " = Relu(%x) {}\n");
    outputs.push_back(absl::StrCat("%a", i));
    for (int j = 0; j < i; ++j) touched.push_back({j, i});
  }
  const Graph graph = GraphOf(absl::StrCat(text, "  output ", absl::StrJoin(outputs, ", "), "\n}"));
  const PartitionOptions options = {.leaf_nodes_max = 10, .looks_max = 100'000};
  const Partition partition = PartitionGraph(graph, touched, options);
  std::vector<NodeId> nodes;
  for (const std::vector<NodeId>& leaf : partition.leaves) {
    EXPECT_LE(leaf.size(), 10u);
    nodes.insert(nodes.end(), leaf.begin(), leaf.end());
  }
  std::vector<NodeId> all(kSiblings);
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(nodes, all) << "halves, and halves of them, are in order";
}

TEST(PartitionTest, MergesNeighboursIntoIntervalsUpToTheLimit) {
  const Partition partition =
      PartitionGraph(Blocks(), {}, {.leaf_nodes_max = 4, .interval_nodes_max = 8});
  EXPECT_EQ(partition.intervals, (std::vector<Interval>{{0, 1}, {0, 2}, {1, 2}}));
  EXPECT_EQ(NodesOf(partition, {0, 2}), (std::vector<NodeId>{0, 1, 2, 3, 4, 5, 6, 7}));
}

// A mask that each of eight layers reads, of five nodes each.
Graph MaskedLayers() {
  std::string text = R"(graph {
    input %x0: float32[2,8]
    input %m: float32[2,8]
    %mask = Exp(%m) {}
)";
  for (int layer = 0; layer < 8; ++layer) {
    absl::StrAppend(&text, "%a", layer, " = Relu(%x", layer, ") {}\n%b", layer, " = Exp(%a", layer,
                    ") {}\n%c", layer, " = Add(%b", layer, ", %mask) {}\n%d", layer, " = Tanh(%c",
                    layer, ") {}\n%x", layer + 1, " = Add(%x", layer, ", %d", layer, ") {}\n");
  }
  return GraphOf(absl::StrCat(text, "output %x8\n}"));
}

TEST(PartitionTest, AMaskThatAllLayersReadForbidsNoCut) {
  const Graph graph = MaskedLayers();
  const Partition partition =
      PartitionGraph(graph, {}, {.leaf_nodes_max = 6, .interval_nodes_max = 18});
  EXPECT_EQ(PrintPartition(partition),
            "leaf 0: 0 1 2 3 4 5\nleaf 1: 6 7 8 9 10\nleaf 2: 11 12 13 14 15\n"
            "leaf 3: 16 17 18 19 20\nleaf 4: 21 22 23 24 25\nleaf 5: 26 27 28 29 30\n"
            "leaf 6: 31 32 33 34 35\nleaf 7: 36 37 38 39 40\n");
  // Layers read it as an input, and are equal.
  std::set<std::string> structures;
  for (size_t leaf = 1; leaf < partition.leaves.size(); ++leaf) {
    const Region region = MakeRegion(graph, partition.leaves[leaf]);
    const TensorId mask = graph.node(0).outputs[0];
    EXPECT_EQ(std::count(region.inputs.begin(), region.inputs.end(), mask), 1);
    structures.insert(StructureFingerprint(graph, region.nodes).ToString());
  }
  EXPECT_EQ(structures.size(), 1u);
}

// Two intervals could hold it with all of its readers.
TEST(PartitionTest, AMaskThatIsReadOverTwoIntervalsForbidsCuts) {
  const Partition partition = PartitionGraph(
      MaskedLayers(), {}, {.leaf_nodes_max = 6, .interval_nodes_max = 20, .looks_max = 0});
  EXPECT_EQ(partition.leaves[0], (std::vector<NodeId>{0, 1, 2, 3, 4}))
      << "without looks, what has no such cut is halved in the middle";
}

// Blocks of four nodes, down and up again: before each block of the way up what came out of its
// counterpart is added.
Graph SkipsAroundTheMiddle(int blocks) {
  std::string text = "graph {\n  input %x0: float32[2,8]\n";
  for (int block = 0; block < 2 * blocks; ++block) {
    const int counterpart = 2 * blocks - 1 - block;
    absl::StrAppend(&text, "%a", block, " = Relu(%x", block, ") {}\n%b", block, " = Exp(%a", block,
                    ") {}\n%c", block, " = Add(%a", block, ", %b", block, ") {}\n%x", block + 1,
                    block < blocks ? absl::StrCat(" = Tanh(%c", block)
                                   : absl::StrCat(" = Add(%c", block, ", %x", counterpart + 1),
                    ") {}\n");
  }
  return GraphOf(absl::StrCat(text, "output %x", 2 * blocks, "\n}"));
}

TEST(PartitionTest, ASkipAroundTheMiddleForbidsNoCut) {
  const PartitionOptions options = {.leaf_nodes_max = 4, .interval_nodes_max = 4, .looks_max = 0};
  std::string blocks;
  for (int block = 0; block < 10; ++block) {
    const int node = 4 * block;
    absl::StrAppend(&blocks, "leaf ", block, ": ", node, " ", node + 1, " ", node + 2, " ",
                    node + 3, "\n");
  }
  EXPECT_EQ(PrintPartition(PartitionGraph(SkipsAroundTheMiddle(5), {}, options)), blocks);
}

TEST(PartitionTest, LeavesAreSmallConvexAndInOrderOnRandomGraphs) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    Random random(seed);
    const Graph graph = RandomAdditions(random, 30);
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

}  // namespace
}  // namespace plait
