#include "gpu_worker/backends/cpu/offers/constant_product.h"

#include "gpu_worker/backends/groups/node_checks.h"
#include "gpu_worker/backends/groups/pointwise.h"

namespace plait {
namespace {

// A vector that is added to every row, or nothing. To a single column a number is one.
bool AddsOneVector(const Graph& graph, const Node& node) {
  if (node.inputs.size() < 3 || node.inputs[2] == kNoTensor) return true;
  const TensorInfo& addend = graph.tensor(node.inputs[2]);
  const int64_t columns = graph.type(node.outputs[0]).shape.back();
  return addend.constant != nullptr && addend.type.elements() == columns &&
         (addend.type.rank() == 0 || addend.type.shape.back() == columns) &&
         node.attributes->Float("beta", 1.0f) == 1.0f;
}

bool IsPlainGemm(const Graph& graph, const Node& node) {
  return node.attributes->Int("transA", 0) == 0 && node.attributes->Float("alpha", 1.0f) == 1.0f &&
         AddsOneVector(graph, node);
}

}  // namespace

std::optional<ConstantProduct> ConstantProductAt(const Graph& graph, NodeId id) {
  if (!IsOneOf(graph, id, {OpKind::kGemm, OpKind::kMatMul}) || !AllFloat32(graph, id)) {
    return std::nullopt;
  }
  const Node& node = graph.node(id);
  const TensorInfo& right = graph.tensor(node.inputs[1]);
  const TensorType& left = graph.type(node.inputs[0]);
  if (right.constant == nullptr || right.type.rank() != 2 || left.rank() < 2) return std::nullopt;
  if (node.op == OpKind::kGemm && !IsPlainGemm(graph, node)) return std::nullopt;
  const int64_t depth = left.shape.back();
  const int64_t columns = graph.type(node.outputs[0]).shape.back();
  const bool is_transposed = node.op == OpKind::kGemm && node.attributes->Int("transB", 0) != 0;
  return ConstantProduct{.rows = left.elements() / depth,
                         .depth = depth,
                         .columns = columns,
                         .right_row_floats = is_transposed ? 1 : columns,
                         .right_column_floats = is_transposed ? depth : 1};
}

std::optional<ConstantProduct> PixelProductAt(const Graph& graph, NodeId id) {
  if (!IsPixelByPixel(graph, id)) return std::nullopt;
  const Shape& input = graph.input_type(id, 0).shape;
  return ConstantProduct{.rows = input[0] * input[2] * input[3],
                         .depth = input[1],
                         .columns = graph.output_type(id).shape[1],
                         .right_row_floats = 1,
                         .right_column_floats = input[1]};
}

}  // namespace plait
