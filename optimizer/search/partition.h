#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "optimizer/ir/graph.h"
#include "optimizer/search/match_index.h"

namespace plait {

// Sizes in nodes. Small leaves are searched to the end, large intervals find rewrites across cuts.
struct PartitionOptions {
  // 10: leaves of this size are searched exhaustively in milliseconds (Unity's threshold, OSDI
  // 2022).
  int leaf_nodes_max = 10;
  // 30: three leaves, so that a rewrite across a cut has its place in some interval.
  int interval_nodes_max = 30;
  // Edges that flows look at in all. NasNet-large takes 250,000, thousands of siblings that any two
  // of merge would take minutes. What is too large when they are spent is cut in the middle.
  int64_t looks_max = 20'000'000;
};

// Adjacent leaves [first, end) that are searched as one region.
// Counted in leaves: [1, 3) are leaves 1 and 2.
struct Interval {
  int first = 0;
  int end = 0;
  friend bool operator==(const Interval&, const Interval&) = default;
};

// A graph as a sequence of convex sets of nodes, of which only earlier ones feed later ones.
// Ten leaves of ten nodes have, with at most 30 nodes to an interval, 10 + 9 + 8 = 27 intervals.
struct Partition {
  std::vector<std::vector<NodeId>> leaves;  // each ascending; together every node once
  std::vector<Interval> intervals;  // every single leaf, and all unions up to the size limit
};

// Cuts first where a single tensor crosses and no match does, which loses nothing; tensors that are
// read over more than two intervals, which would forbid each cut, do not count. Parts that are
// still too large are halved at a minimum vertex cut (MetaFlow, MLSys 2019, algorithm 2), which
// cuts as few matches as possible, and as few vertices among equals: a match is cut when its nodes
// come to lie on both sides, also those of siblings that do not read each other. The outer fifths
// of a part stay on their sides, so that cuts are not trivial. Neighbouring leaves are then merged
// into overlapping intervals (AutoGraph, AAAI 2023, figure 4). Pure. `touched` holds the nodes of
// each match, ascending, see NodesTouchedBy; of more nodes than an interval may have it does not
// count.
Partition PartitionGraph(const Graph& graph, const std::vector<std::vector<NodeId>>& touched,
                         const PartitionOptions& options);

// The nodes of an interval, ascending. They are convex, because leaves are in order.
std::vector<NodeId> NodesOf(const Partition& partition, const Interval& interval);

// One line per leaf, "leaf 0: 0 1 2", for people and golden tests.
// Intervals follow from the leaves and the options and are not printed.
std::string PrintPartition(const Partition& partition);

}  // namespace plait
