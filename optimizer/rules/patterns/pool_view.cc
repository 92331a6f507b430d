#include "optimizer/rules/patterns/pool_view.h"

#include <algorithm>

namespace plait {

bool IsPool(const Graph& graph, NodeId node) {
  switch (graph.node(node).op) {
    case OpKind::kAveragePool:
    case OpKind::kMaxPool:
    case OpKind::kGlobalAveragePool:
    case OpKind::kGlobalMaxPool:
      return graph.node(node).outputs.size() == 1;
    default:
      return false;
  }
}

bool TakesLargest(const Graph& graph, NodeId node) {
  if (graph.node(node).op != OpKind::kMaxPool || !IsPool(graph, node)) return false;
  const std::vector<int64_t> dilations = graph.node(node).attributes->Ints("dilations");
  return std::all_of(dilations.begin(), dilations.end(), [](int64_t d) { return d == 1; });
}

}  // namespace plait
