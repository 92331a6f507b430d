#include "optimizer/search/segments.h"

#include <algorithm>
#include <utility>

namespace plait {
namespace {

// Example, with B and E opaque:
//
//   x ── A ── B ── C ──┐
//   x ── D ────── E ── F
//
// Levels alternate, islands on the even ones: A and D are on 0, B and E on 1, C and F on 2. So
// there are three segments, where a walk in the nodes' order would cut A|B|CD|E|F.

bool IsOpaque(const Graph& graph, NodeId node) { return graph.node(node).op == OpKind::kOpaque; }

// The level of each node: at least that of what it reads, and of its own kind's parity.
// `host_first` gives the even ones to opaque nodes.
std::vector<int> LevelsOf(const Graph& graph, bool host_first) {
  std::vector<int> levels(graph.node_count());
  for (NodeId node = 0; node < graph.node_count(); ++node) {
    const int parity = IsOpaque(graph, node) == host_first ? 0 : 1;
    int level = parity;
    for (const TensorId input : graph.node(node).inputs) {
      const NodeId producer = input == kNoTensor ? kNoNode : graph.tensor(input).producer;
      if (producer == kNoNode) continue;
      level = std::max(level, levels[producer] + (levels[producer] % 2 == parity ? 0 : 1));
    }
    levels[node] = level;
  }
  return levels;
}

// Opaque nodes move up to what reads them: so what is no tensor of numbers, which cannot leave a
// host segment, more often need not.
void DelayOpaqueNodes(const Graph& graph, std::vector<int>& levels) {
  for (NodeId node = graph.node_count() - 1; node >= 0; --node) {
    if (!IsOpaque(graph, node)) continue;
    int latest = -1;  // of what reads it; none yet
    bool is_free = true;
    for (const TensorId output : graph.node(node).outputs) {
      if (output == kNoTensor) continue;
      is_free &= !graph.is_output(output);
      for (const NodeId user : graph.users(output)) {
        const int before = levels[user] - (IsOpaque(graph, user) ? 0 : 1);
        latest = latest < 0 ? before : std::min(latest, before);
      }
    }
    if (is_free && latest >= 0) levels[node] = latest;
  }
}

std::vector<Segment> Grouped(const Graph& graph, const std::vector<int>& levels) {
  const int count = levels.empty() ? 0 : *std::max_element(levels.begin(), levels.end()) + 1;
  std::vector<std::vector<NodeId>> groups(count);
  for (NodeId node = 0; node < graph.node_count(); ++node) groups[levels[node]].push_back(node);
  std::vector<Segment> segments;
  for (std::vector<NodeId>& nodes : groups) {
    if (nodes.empty()) continue;
    const bool is_host = IsOpaque(graph, nodes.front());
    segments.push_back({MakeRegion(graph, std::move(nodes)), is_host});
  }
  return segments;
}

}  // namespace

std::vector<Segment> SegmentsOf(const Graph& graph) {
  std::vector<int> island_first = LevelsOf(graph, /*host_first=*/false);
  std::vector<int> host_first = LevelsOf(graph, /*host_first=*/true);
  DelayOpaqueNodes(graph, island_first);
  DelayOpaqueNodes(graph, host_first);
  std::vector<Segment> segments = Grouped(graph, island_first);
  std::vector<Segment> others = Grouped(graph, host_first);
  return others.size() < segments.size() ? std::move(others) : std::move(segments);
}

std::vector<Graph> IslandsOf(const Graph& graph) {
  std::vector<Graph> islands;
  for (const Segment& segment : SegmentsOf(graph)) {
    if (!segment.is_host) islands.push_back(ExtractRegion(graph, segment.region));
  }
  return islands;
}

}  // namespace plait
