#include "optimizer/ops/shared/permutation.h"

#include "optimizer/ops/shared/axes.h"

namespace plait {

std::vector<int64_t> PermutationOf(const Graph& graph, NodeId transpose) {
  const int rank = graph.input_type(transpose, 0).rank();
  std::vector<int64_t> permutation = graph.node(transpose).attributes->Ints("perm");
  if (permutation.empty()) {
    for (int axis = rank - 1; axis >= 0; --axis) permutation.push_back(axis);
  }
  for (int64_t& axis : permutation) axis = NormalAxis(axis, rank);
  return permutation;
}

}  // namespace plait
