#include "optimizer/onnx/fold_node.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/limits.h"
#include "optimizer/ops/evaluation/constant_expression.h"
#include "optimizer/ops/evaluation/run_operator.h"
#include "optimizer/ops/shared/op_spec.h"

namespace plait {

namespace {

using Constants = std::vector<ConstantRef>;

// Operators that read no value, only a shape, which is static here.
bool IsShapeQuestion(OpKind op) { return op == OpKind::kShape || op == OpKind::kSize; }

// The constants that a node reads, nullptr for omitted inputs; nullopt when it reads anything else.
std::optional<Constants> ConstantInputs(const GraphBuilder& builder, const Node& node) {
  Constants constants;
  for (const TensorId id : node.inputs) {
    constants.push_back(id == kNoTensor ? nullptr : builder.tensor(id).constant);
    if (id != kNoTensor && constants.back() == nullptr) return std::nullopt;
  }
  return constants;
}

std::vector<TensorType> InputTypes(const GraphBuilder& builder, const Node& node) {
  std::vector<TensorType> types;
  for (const TensorId id : node.inputs) {
    types.push_back(id == kNoTensor ? TensorType{} : builder.tensor(id).type);
  }
  return types;
}

// Small inputs and outputs do not bound the work: a pooling window may be as large as its padding.
bool IsCheap(const Node& node, const GraphBuilder& builder, absl::Span<const Tensor* const> values,
             absl::Span<const TensorType> output_types) {
  int64_t bytes = 0;
  for (const TensorType& type : output_types) {
    if (type.elements() > kInlineConstantBytesMax) return false;
    bytes = std::max(bytes, type.bytes());
  }
  if (bytes > kInlineConstantBytesMax) return false;
  if (IsShapeQuestion(node.op)) return true;
  const std::vector<TensorType> input_types = InputTypes(builder, node);
  const OpCall call{*node.attributes, input_types, values, static_cast<int>(output_types.size())};
  const OpSpec& spec = SpecOf(node.op);
  const Work work =
      spec.work == nullptr ? DefaultWork(call, output_types) : spec.work(call, output_types);
  return work.flops <= kFoldedAtImportFlopsMax;
}

// Dequantized weights and biases stay what they were made of, which tells operators on integers.
bool HidesIntegers(const Node& node, absl::Span<const TensorType> output_types) {
  return node.op == OpKind::kDequantizeLinear && output_types[0].elements() > 1;
}

// Computes the node; nullopt when evaluation refuses it.
std::optional<Constants> Compute(const GraphBuilder& builder, const Node& node,
                                 absl::Span<const Tensor* const> values, int output_count) {
  std::vector<EvalTensor> tensors;
  for (size_t index = 0; index < node.inputs.size(); ++index) {
    const TensorId id = node.inputs[index];
    if (id == kNoTensor) {
      tensors.push_back({});
    } else if (values[index] != nullptr) {
      tensors.push_back(ToEvalTensor(*values[index]));
    } else {
      tensors.push_back({builder.tensor(id).type, {}});  // its shape is all that is read
    }
  }
  std::vector<const EvalTensor*> inputs;
  for (size_t index = 0; index < tensors.size(); ++index) {
    inputs.push_back(node.inputs[index] == kNoTensor ? nullptr : &tensors[index]);
  }
  const absl::StatusOr<std::vector<EvalTensor>> outputs =
      RunOperator({node.op, *node.attributes, values, output_count}, inputs, Numbers::kReal);
  if (!outputs.ok()) return std::nullopt;
  Constants constants;
  for (const EvalTensor& output : *outputs) {
    constants.push_back(Constant::OfTensor(FromEvalTensor(output)));
  }
  return constants;
}

}  // namespace

std::optional<std::vector<ConstantRef>> FoldNode(const GraphBuilder& builder, const Node& node,
                                                 absl::Span<const TensorType> output_types) {
  // Three ends: computed now (small and readable), an expression for later (large, or over
  // weights), or no constant at all.
  const int output_count = static_cast<int>(output_types.size());
  std::optional<Constants> inputs = ConstantInputs(builder, node);
  if (!inputs && !IsShapeQuestion(node.op)) return std::nullopt;
  std::vector<const Tensor*> values(node.inputs.size());
  bool readable = true;
  for (size_t index = 0; index < values.size() && inputs; ++index) {
    if ((*inputs)[index] == nullptr) continue;
    values[index] = (*inputs)[index]->inline_value();
    readable = readable && values[index] != nullptr;
  }
  const bool computes = readable && !HidesIntegers(node, output_types);
  if ((computes || IsShapeQuestion(node.op)) && IsCheap(node, builder, values, output_types)) {
    return Compute(builder, node, values, output_count);
  }
  if (!inputs || output_count != 1) return std::nullopt;
  // Exporters share one weight between layers through Identity nodes; a copy would double it.
  if (node.op == OpKind::kIdentity) return inputs;
  const std::vector<TensorType> input_types = InputTypes(builder, node);
  const OpCall call{*node.attributes, input_types, values, output_count};
  if (!MayBeFolded(call, node.op, *inputs, output_types)) return std::nullopt;
  return Constants{std::make_shared<const Constant>(
      output_types[0], Constant::Apply{node.op, node.attributes, *std::move(inputs), 0})};
}

}  // namespace plait
