#include "gpu_worker/backends/cpu/offers/pointwise.h"

#include <algorithm>

namespace plait {
namespace {

// Pixels that a stride skips at the end of an image would make the next one begin elsewhere.
bool HasEvenRows(const Graph& graph, const Node& node) {
  const std::vector<int64_t> strides = node.attributes->Ints("strides");
  const Shape& input = graph.type(node.inputs[0]).shape;
  const Shape& output = graph.type(node.outputs[0]).shape;
  const bool is_dense = strides.empty() || (strides[0] == 1 && strides[1] == 1);
  return is_dense || input[0] == 1 || input[2] == output[2] * strides[0];
}

}  // namespace

bool IsPointwise(const Graph& graph, NodeId conv) {
  const Node& node = graph.node(conv);
  const Shape& weights = graph.type(node.inputs[1]).shape;
  const std::vector<int64_t> pads = node.attributes->Ints("pads");
  const bool is_padded = std::any_of(pads.begin(), pads.end(), [](int64_t pad) { return pad > 0; });
  return weights[2] == 1 && weights[3] == 1 && !is_padded && HasEvenRows(graph, node);
}

}  // namespace plait
