#include "gpu_worker/backends/cuda/driver/operation_edges.h"

#include <algorithm>
#include <cstdint>

// By an example: 0 -> 1 -> 2 full, 0 -> 2 full, and 0 -> 2 would be gone, since whoever waits for 1
// waits for 0. Were 0 -> 1 programmatic, 1 could begin and end while 0 still runs, and 0 -> 2
// stays. What is left is the transitive reduction of the full edges (unique, as there is no cycle;
// Aho, Garey and Ullman 1972), and the programmatic edges that it does not imply.

namespace plait::cuda {
namespace {

bool IsFull(const EdgeData& data) { return data.type == 0; }

bool IsEqual(const EdgeData& a, const EdgeData& b) {
  return a.type == b.type && a.from_port == b.from_port && a.to_port == b.to_port;
}

// One bit per operation.
using Bits = std::vector<uint64_t>;

bool Has(const Bits& bits, int bit) { return ((bits[bit / 64] >> (bit % 64)) & 1) != 0; }
void Set(Bits* bits, int bit) { (*bits)[bit / 64] |= uint64_t{1} << (bit % 64); }
void Join(const Bits& from, Bits* to) {
  for (size_t i = 0; i < from.size(); ++i) (*to)[i] |= from[i];
}

}  // namespace

void OperationEdges::Add(int before, int after, EdgeReason reason, EdgeData data) {
  const auto [place, is_new] = edges_.try_emplace({before, after}, Edge{data});
  Edge& edge = place->second;
  if (!is_new && !IsEqual(edge.data, data)) edge.data = EdgeData{};
  bool& known = edge.reasons[static_cast<size_t>(reason)];
  counts_[static_cast<size_t>(reason)] += known ? 0 : 1;
  known = true;
}

// Kahn's algorithm.
std::vector<int> OperationEdges::Order(int operations) const {
  std::vector<int> waiting(operations, 0);
  for (const auto& [ends, edge] : edges_) ++waiting[ends.second];
  std::vector<int> order;
  for (int i = 0; i < operations; ++i) {
    if (waiting[i] == 0) order.push_back(i);
  }
  for (size_t done = 0; done < order.size(); ++done) {
    for (auto edge = edges_.lower_bound({order[done], 0});
         edge != edges_.end() && edge->first.first == order[done]; ++edge) {
      if (--waiting[edge->first.second] == 0) order.push_back(edge->first.second);
    }
  }
  return order;
}

OperationEdges::Pairs OperationEdges::Reduced(const std::vector<int>& order) const {
  std::vector<int> place(order.size());
  for (size_t i = 0; i < order.size(); ++i) place[order[i]] = static_cast<int>(i);
  const size_t words = order.size() / 64 + 1;
  std::vector<Bits> behind(order.size());  // what full edges put behind each operation
  Pairs kept;
  for (size_t i = order.size(); i-- > 0;) {
    const int before = order[i];
    Bits& reached = behind[before];
    reached.assign(words, 0);
    std::vector<std::pair<int, EdgeData>> next;
    for (auto edge = edges_.lower_bound({before, 0});
         edge != edges_.end() && edge->first.first == before; ++edge) {
      next.emplace_back(edge->first.second, edge->second.data);
    }
    // An operation on a path to another one is earlier in the order. Full edges first: they decide
    // about the programmatic ones.
    std::sort(next.begin(), next.end(), [&](const auto& a, const auto& b) {
      return std::pair(!IsFull(a.second), place[a.first]) <
             std::pair(!IsFull(b.second), place[b.first]);
    });
    for (const auto& [after, data] : next) {
      if (Has(reached, after)) continue;
      kept[{before, after}] = data;
      if (!IsFull(data)) continue;
      Set(&reached, after);
      Join(behind[after], &reached);
    }
  }
  return kept;
}

}  // namespace plait::cuda
