#include "gpu_worker/backends/groups/pointwise.h"

#include <algorithm>

#include "gpu_worker/backends/groups/format_rows.h"
#include "gpu_worker/backends/groups/node_checks.h"

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

// The bias may be absent.
bool HasConstantWeights(const Graph& graph, const Node& node) {
  return std::all_of(node.inputs.begin() + 1, node.inputs.end(), [&](TensorId input) {
    return input == kNoTensor || graph.tensor(input).constant != nullptr;
  });
}

}  // namespace

bool IsPointwise(const Graph& graph, NodeId conv) {
  const Node& node = graph.node(conv);
  const Shape& weights = graph.type(node.inputs[1]).shape;
  const std::vector<int64_t> pads = node.attributes->Ints("pads");
  const bool is_padded = std::any_of(pads.begin(), pads.end(), [](int64_t pad) { return pad > 0; });
  return weights[2] == 1 && weights[3] == 1 && !is_padded && HasEvenRows(graph, node);
}

bool IsImageConvolution(const Graph& graph, NodeId id) {
  return IsOneOf(graph, id, {OpKind::kConv}) && AllFloat32(graph, id) && IsSpatial(graph, id) &&
         HasExplicitPadding(graph.node(id)) && HasConstantWeights(graph, graph.node(id));
}

bool IsPixelByPixel(const Graph& graph, NodeId id) {
  if (!IsImageConvolution(graph, id) || !IsPointwise(graph, id)) return false;
  const Shape& input = graph.input_type(id, 0).shape;
  const Shape& output = graph.output_type(id).shape;
  return graph.node(id).attributes->Int("group", 1) == 1 && input[2] == output[2] &&
         input[3] == output[3];
}

}  // namespace plait
