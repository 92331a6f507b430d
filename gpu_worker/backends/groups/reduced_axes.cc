#include "gpu_worker/backends/groups/reduced_axes.h"

#include <algorithm>

#include "optimizer/ops/shared/axes.h"

namespace plait {

// Sorted, so that neighbouring axes are seen to be neighbours. An empty list means all axes or
// none, as the attribute says.
std::optional<std::vector<int>> ReducedAxes(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const int rank = graph.input_type(id, 0).rank();
  std::vector<int> axes;
  const bool is_global = node.op == OpKind::kGlobalAveragePool || node.op == OpKind::kGlobalMaxPool;
  const bool has_axes = !is_global && node.inputs.size() > 1 && node.inputs[1] != kNoTensor;
  if (!has_axes) {
    if (!is_global && node.attributes->Int("noop_with_empty_axes", 0) != 0) return std::nullopt;
    for (int i = is_global ? 2 : 0; i < rank; ++i) axes.push_back(i);
    return axes;
  }
  const Tensor* value = graph.inline_constant(id, 1);
  if (value == nullptr) return std::nullopt;
  for (const int64_t axis : value->AsInt64s()) {
    axes.push_back(static_cast<int>(NormalAxis(axis, rank)));
  }
  std::sort(axes.begin(), axes.end());
  if (axes.empty() && node.attributes->Int("noop_with_empty_axes", 0) == 0) {
    for (int i = 0; i < rank; ++i) axes.push_back(i);
  }
  return axes;
}

}  // namespace plait
