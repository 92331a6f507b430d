#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <utility>
#include <vector>

#include "gpu_worker/backends/cuda/driver/runtime.h"

namespace plait::cuda {

// Why one operation has to wait for another.
// kData: one reads what the other writes. kMemoryReuse: one writes where the other has read or
// written, because their tensors share memory. kStreamOrder: a schedule has put both on one stream.
// kStageBarrier: a schedule has put them into stages that follow each other. The device treats all
// alike; the reason is kept to tell what a schedule costs in edges.
enum class EdgeReason { kData, kMemoryReuse, kStreamOrder, kStageBarrier };
inline constexpr size_t kEdgeReasons = 4;

// The order of a graph's operations: pairs, each with everything that asked for it. An edge is full
// (the first ends before the second begins) or programmatic, which is weaker. Operations are
// numbers from 0. Not thread-safe.
class OperationEdges {
 public:
  // Pairs (before, after) with how the first orders the second.
  using Pairs = std::map<std::pair<int, int>, EdgeData>;

  // Asked twice for one pair, the stronger edge stays; two programmatic ones that differ become a
  // full one, which is what both may be replaced by.
  void Add(int before, int after, EdgeReason reason, EdgeData data);

  // How many pairs were asked for by this reason, whatever else asked for them.
  size_t count(EdgeReason reason) const { return counts_[static_cast<size_t>(reason)]; }

  // The operations below `operations`, each behind those it waits for; fewer where a cycle is.
  std::vector<int> Order(int operations) const;

  // The edges without those that say what a path of full edges says already. A path with a
  // programmatic edge says less than a full edge, and takes none away.
  // `order`: Order() of all operations. N operations and E edges take O(E N / 64).
  Pairs Reduced(const std::vector<int>& order) const;

 private:
  struct Edge {
    EdgeData data;
    std::array<bool, kEdgeReasons> reasons = {};
  };

  // A pair is one edge, and all edges of an operation lie side by side.
  std::map<std::pair<int, int>, Edge> edges_;
  std::array<size_t, kEdgeReasons> counts_ = {};
};

}  // namespace plait::cuda
