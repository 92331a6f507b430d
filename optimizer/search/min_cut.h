#pragma once

#include <cstdint>
#include <vector>

namespace plait {

// A directed network with capacities, for maximum flows and minimum cuts. Not thread-safe.
class FlowNetwork {
 public:
  // More than any sum of finite capacities here: an edge that no cut may take.
  static constexpr int64_t kInfinite = int64_t{1} << 50;

  explicit FlowNetwork(int vertex_count) : edges_of_(vertex_count) {}

  void AddEdge(int from, int to, int64_t capacity);

  // Pushes as much as possible from `source` to `sink` (Dinic 1970) and returns that amount, which
  // is the capacity of a minimum cut. Called once.
  int64_t MaximumFlow(int source, int sink);

  // After MaximumFlow: the vertices that `source` still reaches; the smallest source side of any
  // minimum cut.
  std::vector<bool> SourceSide(int source) const;

 private:
  struct Edge {
    int to;
    int64_t capacity;  // what is left of it
  };

  bool FindLevels(int source, int sink);
  int64_t PushPath(int source, int sink);

  std::vector<Edge> edges_;  // edge i and i^1 are each other's reverse
  std::vector<std::vector<int>> edges_of_;
  std::vector<int> level_;
  std::vector<int> next_edge_;
};

}  // namespace plait
