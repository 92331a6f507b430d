#include "optimizer/search/partition.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "optimizer/search/min_cut.h"

// Two ways to cut, the lossless one first. With leaves of at most 4 nodes:
//
//   %a = Relu(%x)  %b = Exp(%a)  %c = Tanh(%b)  %d = Add(%a, %c)  %e = Relu(%d)
//
// Behind %a and behind %d a single tensor crosses, behind %b and %c two do. Cutting at the former
// gives {a} {b,c,d} {e}, and neighbours that fit into a leaf are merged: {a,b,c,d} {e}. A match
// that touches %d and %e forbids the second cut: {a} {b,c,d,e}. A mask that is read all along would
// forbid every cut, and does not count. Where no such position is left, a flow (min_cut.h) finds
// the cheapest one: behind %b it would cut %a and %b and the matches that reach over it, behind %d
// only %d and such matches (MetaFlow, MLSys 2019, algorithm 2).
//
// The sweep costs O(nodes + edges + matches). A flow cuts off at least a fifth of its part, so
// parts nest O(log N) deep. All flows together look at `looks_max` edges: N siblings of which any
// two merge are N * N / 2 matches, and what is left of them then is halved as it stands.

namespace plait {
namespace {

class Partitioner {
 public:
  Partitioner(const Graph& graph, const std::vector<std::vector<NodeId>>& touched,
              const PartitionOptions& options)
      : graph_(graph),
        options_(options),
        matches_of_(graph.node_count()),
        looks_(options.looks_max) {
    CountMatches(touched);
    for (size_t match = 0; match < matches_.size(); ++match) {
      for (const NodeId node : matches_[match].nodes) {
        matches_of_[node].push_back(static_cast<int>(match));
      }
    }
  }

  std::vector<std::vector<NodeId>> Leaves() {
    for (std::vector<NodeId>& piece : LosslessPieces()) Split(std::move(piece));
    return MergeSmall(std::move(leaves_));
  }

 private:
  // Matches that touch the same nodes.
  struct SameMatches {
    std::vector<NodeId> nodes;
    int count = 0;
  };

  // Those of more nodes than any interval has are left out: no cut keeps them, and there may be
  // thousands, each over a thousand siblings.
  void CountMatches(std::vector<std::vector<NodeId>> touched) {
    const auto nodes_max =
        static_cast<size_t>(std::max(options_.leaf_nodes_max, options_.interval_nodes_max));
    std::erase_if(touched, [&](const auto& nodes) { return nodes.size() > nodes_max; });
    std::sort(touched.begin(), touched.end());
    for (std::vector<NodeId>& nodes : touched) {
      if (matches_.empty() || matches_.back().nodes != nodes) {
        matches_.push_back({std::move(nodes)});
      }
      ++matches_.back().count;
    }
  }

  // Whether a tensor is read over so many nodes that it crosses cuts wherever they are, as an
  // attention mask or a skip around a network's middle does: regions read it as an input anyway.
  // Twice an interval, because a skip over a NasNet cell is better counted.
  bool IsLongLived(const TensorInfo& info, NodeId last_reader) const {
    return last_reader - info.producer >= 2 * options_.interval_nodes_max;
  }

  // Positions between nodes, in topological order, that one tensor crosses, beside those that live
  // long, and no match spans.
  std::vector<std::vector<NodeId>> LosslessPieces() const {
    const int count = graph_.node_count();
    // Differences: what starts to cross behind a node, minus what ends.
    std::vector<int> tensors(count + 1, 0);
    std::vector<int> matches(count + 1, 0);
    for (TensorId tensor = 0; tensor < graph_.tensor_count(); ++tensor) {
      const TensorInfo& info = graph_.tensor(tensor);
      if (info.constant != nullptr || graph_.users(tensor).empty()) continue;
      if (IsLongLived(info, graph_.users(tensor).back())) continue;
      // A graph input crosses every position up to its last reader.
      ++tensors[info.producer == kNoNode ? 0 : info.producer + 1];
      --tensors[graph_.users(tensor).back() + 1];
    }
    for (const SameMatches& same : matches_) {
      ++matches[same.nodes.front() + 1];
      --matches[same.nodes.back() + 1];
    }
    std::vector<std::vector<NodeId>> pieces;
    int crossing_tensors = 0;
    int crossing_matches = 0;
    for (NodeId node = 0; node < count; ++node) {
      crossing_tensors += tensors[node];
      crossing_matches += matches[node];
      const bool cut = crossing_tensors <= 1 && crossing_matches == 0;
      if (pieces.empty() || (node > 0 && cut)) pieces.emplace_back();
      pieces.back().push_back(node);
    }
    return pieces;
  }

  void Split(std::vector<NodeId> part) {
    const int count = static_cast<int>(part.size());
    if (count <= options_.leaf_nodes_max || count < 2) {
      leaves_.push_back(std::move(part));
      return;
    }
    const std::vector<bool> is_first = FirstSide(part);
    std::vector<NodeId> first;
    std::vector<NodeId> second;
    for (int i = 0; i < count; ++i) (is_first[i] ? first : second).push_back(part[i]);
    Split(std::move(first));
    Split(std::move(second));
  }

  // Where the node stands in the part; -1 outside of it.
  static int PlaceIn(const std::vector<NodeId>& part, NodeId node) {
    const auto place = std::lower_bound(part.begin(), part.end(), node);
    return place == part.end() || *place != node ? -1 : static_cast<int>(place - part.begin());
  }

  // Matches that a cut of a part may part: where at least two of their nodes stand in it.
  struct MatchesInPart {
    std::vector<int> places;
    int count = 0;
  };

  std::vector<MatchesInPart> MatchesWithin(const std::vector<NodeId>& part) const {
    std::vector<int> matches;
    for (const NodeId node : part) {
      matches.insert(matches.end(), matches_of_[node].begin(), matches_of_[node].end());
    }
    std::sort(matches.begin(), matches.end());
    matches.erase(std::unique(matches.begin(), matches.end()), matches.end());
    std::vector<MatchesInPart> within;
    for (const int match : matches) {
      MatchesInPart inside = {{}, matches_[match].count};
      for (const NodeId node : matches_[match].nodes) {
        const int place = PlaceIn(part, node);
        if (place >= 0) inside.places.push_back(place);
      }
      if (inside.places.size() > 1) within.push_back(std::move(inside));
    }
    return within;
  }

  // Which nodes of the part come before the minimum vertex cut, cut vertices included. Vertex i of
  // the part is 2i on the way in and 2i+1 on the way out; the edge between them is the vertex'
  // price. A match is two vertices more, with its price between them: the first one is reached from
  // each of its nodes, the second one leads to each. So it is paid, once, when some of its nodes
  // come before the cut and others behind it, whether they read each other or not.
  // Where looks run out, the nodes of the first half.
  std::vector<bool> FirstSide(const std::vector<NodeId>& part) {
    const int count = static_cast<int>(part.size());
    std::vector<bool> is_first(count);
    std::fill_n(is_first.begin(), count / 2, true);
    if (looks_ <= 0) return is_first;
    const std::vector<MatchesInPart> matches = MatchesWithin(part);
    const int first_match = 2 * count;
    const int source = first_match + 2 * static_cast<int>(matches.size());
    const int sink = source + 1;
    const int fixed = std::max(1, count / 5);
    FlowNetwork network(sink + 1);
    for (int i = 0; i < count; ++i) {
      network.AddEdge(2 * i, 2 * i + 1, 1);
      if (i < fixed) network.AddEdge(source, 2 * i, FlowNetwork::kInfinite);
      if (i >= count - fixed) network.AddEdge(2 * i, sink, FlowNetwork::kInfinite);
      for (size_t input = 0; input < graph_.node(part[i]).inputs.size(); ++input) {
        const NodeId producer = graph_.producer(part[i], static_cast<int>(input));
        const int from = producer == kNoNode ? -1 : PlaceIn(part, producer);
        if (from < 0) continue;
        network.AddEdge(2 * from + 1, 2 * i, FlowNetwork::kInfinite);
        // Whoever is first has all its producers first.
        network.AddEdge(2 * i, 2 * from, FlowNetwork::kInfinite);
      }
    }
    for (size_t match = 0; match < matches.size(); ++match) {
      const int entry = first_match + 2 * static_cast<int>(match);
      // Any number of vertices is cheaper than one more match.
      network.AddEdge(entry, entry + 1, int64_t{matches[match].count} * (count + 1));
      for (const int place : matches[match].places) {
        network.AddEdge(2 * place, entry, FlowNetwork::kInfinite);
        network.AddEdge(entry + 1, 2 * place, FlowNetwork::kInfinite);
      }
    }
    if (!network.MaximumFlow(source, sink, looks_).has_value()) return is_first;
    const std::vector<bool> reached = network.SourceSide(source);
    for (size_t i = 0; i < is_first.size(); ++i) is_first[i] = reached[2 * i];
    return is_first;
  }

  // Neighbours that together are still no larger than a leaf become one.
  std::vector<std::vector<NodeId>> MergeSmall(std::vector<std::vector<NodeId>> leaves) const {
    std::vector<std::vector<NodeId>> merged;
    for (std::vector<NodeId>& leaf : leaves) {
      const size_t nodes_max = static_cast<size_t>(options_.leaf_nodes_max);
      if (!merged.empty() && merged.back().size() + leaf.size() <= nodes_max) {
        merged.back().insert(merged.back().end(), leaf.begin(), leaf.end());
        std::sort(merged.back().begin(), merged.back().end());
      } else {
        merged.push_back(std::move(leaf));
      }
    }
    return merged;
  }

  const Graph& graph_;
  const PartitionOptions& options_;
  std::vector<SameMatches> matches_;
  std::vector<std::vector<int>> matches_of_;  // per node
  int64_t looks_;                             // that flows have left
  std::vector<std::vector<NodeId>> leaves_;
};

}  // namespace

Partition PartitionGraph(const Graph& graph, const std::vector<std::vector<NodeId>>& touched,
                         const PartitionOptions& options) {
  Partition partition;
  partition.leaves = Partitioner(graph, touched, options).Leaves();
  const int leaf_count = static_cast<int>(partition.leaves.size());
  for (int first = 0; first < leaf_count; ++first) {
    int nodes = 0;
    for (int end = first + 1; end <= leaf_count; ++end) {
      nodes += static_cast<int>(partition.leaves[end - 1].size());
      if (end > first + 1 && nodes > options.interval_nodes_max) break;
      partition.intervals.push_back({first, end});
    }
  }
  return partition;
}

std::vector<NodeId> NodesOf(const Partition& partition, const Interval& interval) {
  std::vector<NodeId> nodes;
  for (int leaf = interval.first; leaf < interval.end; ++leaf) {
    nodes.insert(nodes.end(), partition.leaves[leaf].begin(), partition.leaves[leaf].end());
  }
  std::sort(nodes.begin(), nodes.end());
  return nodes;
}

std::string PrintPartition(const Partition& partition) {
  std::string text;
  for (size_t leaf = 0; leaf < partition.leaves.size(); ++leaf) {
    absl::StrAppend(&text, "leaf ", leaf, ": ", absl::StrJoin(partition.leaves[leaf], " "), "\n");
  }
  return text;
}

}  // namespace plait
