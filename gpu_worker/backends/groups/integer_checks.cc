#include "gpu_worker/backends/groups/integer_checks.h"

namespace plait {
namespace {

bool IsOmitted(const Node& node, size_t index) {
  return index >= node.inputs.size() || node.inputs[index] == kNoTensor;
}

}  // namespace

bool IsByte(DataType dtype) { return dtype == DataType::kUint8 || dtype == DataType::kInt8; }

bool IsQuantization(OpKind op) {
  return op == OpKind::kQuantizeLinear || op == OpKind::kDequantizeLinear;
}

bool HasKnownQuantization(const Graph& graph, const Node& node) {
  const DataType from = graph.type(node.inputs[0]).dtype;
  const DataType to = graph.type(node.outputs[0]).dtype;
  const bool quantizes = node.op == OpKind::kQuantizeLinear;
  if (!IsByte(quantizes ? to : from) || (quantizes ? from : to) != DataType::kFloat32) return false;
  for (size_t i = 1; i < node.inputs.size(); ++i) {
    if (node.inputs[i] == kNoTensor) continue;
    const ConstantRef& constant = graph.tensor(node.inputs[i]).constant;
    if (constant == nullptr || constant->inline_value() == nullptr) return false;
    if (constant->type().elements() != 1) return false;
  }
  return graph.type(node.inputs[1]).dtype == DataType::kFloat32;
}

Quantization QuantizationOf(const Graph& graph, const Node& node) {
  const auto value = [&](size_t index) -> const Tensor& {
    return *graph.tensor(node.inputs[index]).constant->inline_value();
  };
  Quantization quantization{.scale = value(1).at<float>(0)};
  if (!IsOmitted(node, 2)) quantization.zero_point = static_cast<float>(value(2).AsInt64s()[0]);
  const bool quantizes = node.op == OpKind::kQuantizeLinear;
  const DataType dtype = graph.type(quantizes ? node.outputs[0] : node.inputs[0]).dtype;
  quantization.lowest = (dtype == DataType::kInt8 ? -128.0f : 0.0f) - quantization.zero_point;
  return quantization;
}

bool HasAtMostOne(const Graph& graph, const Node& node, size_t index) {
  return IsOmitted(node, index) || graph.type(node.inputs[index]).elements() == 1;
}

bool HasOneOrEach(const Graph& graph, const Node& node, size_t index, int64_t count) {
  return HasAtMostOne(graph, node, index) || graph.type(node.inputs[index]).shape == Shape{count};
}

bool IsConstantOrOmitted(const Graph& graph, const Node& node, size_t index) {
  return IsOmitted(node, index) || graph.tensor(node.inputs[index]).constant != nullptr;
}

}  // namespace plait
