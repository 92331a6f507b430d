#include "optimizer/search/min_cut.h"

#include <algorithm>

// Dinic (1970): levels by breadth-first search, then paths that rise one level with each edge until
// none is left, and again, until the sink has no level. From 0 to 3 with the capacities
//
//   0->1: 3   0->2: 1   1->2: 1   1->3: 1   2->3: 3
//
// the first levels are 0, {1,2}, 3 and give the paths 0-1-3 and 0-2-3, one each; the second give
// 0-1-2-3. The flow is 3. What is left of 0->1 still reaches 1, and nothing leads on from there:
// the cut {0,1} | {2,3} has the capacity 1 + 1 + 1 = 3. Reverse edges let a later path take back
// what an earlier one pushed. O(V * V * E), in practice near linear on networks as shallow as ours.

namespace plait {

void FlowNetwork::AddEdge(int from, int to, int64_t capacity) {
  edges_of_[from].push_back(static_cast<int>(edges_.size()));
  edges_.push_back({to, capacity});
  edges_of_[to].push_back(static_cast<int>(edges_.size()));
  edges_.push_back({from, 0});
}

bool FlowNetwork::FindLevels(int source, int sink, int64_t& looks) {
  level_.assign(edges_of_.size(), -1);
  level_[source] = 0;
  std::vector<int> open = {source};
  for (size_t next = 0; next < open.size() && looks > 0; ++next) {
    looks -= static_cast<int64_t>(edges_of_[open[next]].size());
    for (const int edge : edges_of_[open[next]]) {
      const Edge& link = edges_[edge];
      if (link.capacity == 0 || level_[link.to] >= 0) continue;
      level_[link.to] = level_[open[next]] + 1;
      open.push_back(link.to);
    }
  }
  return level_[sink] >= 0 && looks > 0;
}

// One augmenting path along rising levels, without recursion: networks are as deep as models.
int64_t FlowNetwork::PushPath(int source, int sink, int64_t& looks) {
  std::vector<int> path;
  int vertex = source;
  while (vertex != sink) {
    if (looks <= 0) return 0;
    int& next = next_edge_[vertex];
    const std::vector<int>& candidates = edges_of_[vertex];
    const int candidate_count = static_cast<int>(candidates.size());
    const int first = next;
    while (next < candidate_count) {
      const Edge& link = edges_[candidates[next]];
      if (link.capacity > 0 && level_[link.to] == level_[vertex] + 1) break;
      ++next;
    }
    looks -= next - first + 1;
    if (next < candidate_count) {
      path.push_back(candidates[next]);
      vertex = edges_[candidates[next]].to;
    } else {
      if (path.empty()) return 0;
      vertex = edges_[path.back() ^ 1].to;
      path.pop_back();
      ++next_edge_[vertex];
    }
  }
  int64_t amount = kInfinite;
  for (const int edge : path) amount = std::min(amount, edges_[edge].capacity);
  for (const int edge : path) {
    edges_[edge].capacity -= amount;
    edges_[edge ^ 1].capacity += amount;
  }
  return amount;
}

std::optional<int64_t> FlowNetwork::MaximumFlow(int source, int sink, int64_t& looks) {
  int64_t flow = 0;
  while (flow < kInfinite && FindLevels(source, sink, looks)) {
    next_edge_.assign(edges_of_.size(), 0);
    while (const int64_t pushed = PushPath(source, sink, looks)) flow += pushed;
  }
  if (looks <= 0) return std::nullopt;
  return flow;
}

std::vector<bool> FlowNetwork::SourceSide(int source) const {
  std::vector<bool> reached(edges_of_.size(), false);
  reached[source] = true;
  std::vector<int> open = {source};
  while (!open.empty()) {
    const int vertex = open.back();
    open.pop_back();
    for (const int edge : edges_of_[vertex]) {
      const Edge& link = edges_[edge];
      if (link.capacity == 0 || reached[link.to]) continue;
      reached[link.to] = true;
      open.push_back(link.to);
    }
  }
  return reached;
}

}  // namespace plait
