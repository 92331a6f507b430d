#pragma once

#include <vector>

#include "base/random.h"
#include "optimizer/cover/kernel_table.h"
#include "optimizer/ir/graph.h"

namespace plait {

// A group of these nodes, all of whose inputs are read `from` and outputs written `to` a format.
void AddGroup(const Graph& graph, const std::vector<NodeId>& nodes, Format from, Format to,
              double latency_us, KernelTable& table);

// A table over plain kernels whose latencies are drawn from a seed: every node alone, and every
// pair and triple of consecutive nodes of a path.
KernelTable RandomTable(const Graph& graph, Random& random);

// True when launching the groups one after the other is possible in some order.
bool CanRun(const Graph& graph, const KernelTable& table, const std::vector<int>& chosen);

}  // namespace plait
