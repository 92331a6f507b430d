#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace plait {

// A directed network with capacities, for maximum flows and minimum cuts: vertices are 0 to
// vertex_count - 1. Add edges, call MaximumFlow once, then ask for the cut. Its one user is the
// partition, which turns "where does a cut destroy the fewest matches" into capacities. Not
// thread-safe.
// Edges 0->1 of 3, 0->2 of 2, 1->3 of 2 and 2->3 of 3 carry 4 from 0 to 3; the cut takes 1->3 and
// 0->2, and vertices 0 and 1 are on the source's side.
class FlowNetwork {
 public:
  // More than any sum of finite capacities here: an edge that no cut may take.
  static constexpr int64_t kInfinite = int64_t{1} << 50;

  explicit FlowNetwork(int vertex_count) : edges_of_(vertex_count) {}

  // Several edges between two vertices add up.
  // REQUIRES: 0 <= capacity <= kInfinite.
  void AddEdge(int from, int to, int64_t capacity);

  // Pushes as much as possible from `source` to `sink` (Dinic 1970) and returns that amount, which
  // is the capacity of a minimum cut (Ford and Fulkerson 1956). At least kInfinite when every cut
  // takes an infinite edge. Called once. Takes the edges that it looks at off `looks`, and gives up
  // when there are none left: nullopt, and there is no cut to ask for.
  // REQUIRES: source != sink.
  std::optional<int64_t> MaximumFlow(int source, int sink, int64_t& looks);

  // After MaximumFlow: the vertices that `source` still reaches; the smallest source side of any
  // minimum cut.
  std::vector<bool> SourceSide(int source) const;

 private:
  struct Edge {
    int to;
    int64_t capacity;  // what is left of it
  };

  // By breadth-first search over edges with capacity left; false when the sink is out of reach, or
  // no looks are left.
  bool FindLevels(int source, int sink, int64_t& looks);
  // Returns the amount pushed; 0 when the levels admit no further path, or no looks are left.
  int64_t PushPath(int source, int sink, int64_t& looks);

  std::vector<Edge> edges_;  // edge i and i^1 are each other's reverse
  std::vector<std::vector<int>> edges_of_;
  std::vector<int> level_;      // distance from the source; -1: out of reach
  std::vector<int> next_edge_;  // per vertex: the edges before it lead nowhere under these levels
};

}  // namespace plait
