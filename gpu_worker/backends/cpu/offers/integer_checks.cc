#include "gpu_worker/backends/cpu/offers/integer_checks.h"

namespace plait {
namespace {

bool IsOmitted(const Node& node, size_t index) {
  return index >= node.inputs.size() || node.inputs[index] == kNoTensor;
}

}  // namespace

bool IsByte(DataType dtype) { return dtype == DataType::kUint8 || dtype == DataType::kInt8; }

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
