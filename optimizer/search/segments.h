#pragma once

#include <vector>

#include "optimizer/search/region.h"

namespace plait {

// A piece of a graph around nodes that plait does not understand.
struct Segment {
  Region region;
  // Its nodes are opaque and run somewhere else, as a whole; or it is an island, which runs by a
  // plan.
  bool is_host = false;
};

// Cuts a graph into as few segments as can be, in an order in which each reads only what is there
// before it: what depends on no opaque node, then the opaque nodes that read nothing else, then
// what waited for those, and so on. Together they hold every node once, so that Stitch takes their
// regions. Deterministic: a program that loads a model finds the islands again by it, whose plans
// are known by the names of what they read and write. Pure, in linear time.
std::vector<Segment> SegmentsOf(const Graph& graph);

// The islands of a graph, in order, each as a graph of its own.
std::vector<Graph> IslandsOf(const Graph& graph);

}  // namespace plait
