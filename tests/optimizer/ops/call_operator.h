#pragma once

#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/status_macros.h"
#include "optimizer/ops/evaluation/run_operator.h"

namespace plait {

inline constexpr int64_t kInt64Max = std::numeric_limits<int64_t>::max();
inline constexpr int64_t kInt64Min = std::numeric_limits<int64_t>::min();
// What InferredText() says of errors.
inline constexpr char kInvalid[] = "INVALID_ARGUMENT";
inline constexpr char kUnimplemented[] = "UNIMPLEMENTED";

inline AttributeValue Ints(std::vector<int64_t> values) { return values; }

// An operator's input in a test: a type, or a value that the operator may read as a constant.
// A default one is omitted.
struct Argument {
  Argument() = default;
  Argument(TensorType type) : type(std::move(type)) {}  // NOLINT: tables read better
  Argument(Tensor tensor) : type(tensor.type()), value(std::move(tensor)) {}  // NOLINT

  TensorType type;
  std::optional<Tensor> value;
};

// An operator and what it is applied to, in the form of the newest opset.
struct Call {
  OpKind op;
  Attributes attributes;
  std::vector<Argument> arguments;
  int output_count = 1;
};

inline std::vector<const Tensor*> ConstantsOf(const Call& call) {
  std::vector<const Tensor*> constants;
  for (const Argument& argument : call.arguments) {
    constants.push_back(argument.value.has_value() ? &*argument.value : nullptr);
  }
  return constants;
}

inline absl::StatusOr<std::vector<TensorType>> Infer(const Call& call) {
  std::vector<TensorType> types;
  for (const Argument& argument : call.arguments) types.push_back(argument.type);
  return InferTypes(call.op, call.attributes, types, ConstantsOf(call), call.output_count);
}

// "float32[2,3]", several outputs with a blank between, or the status' code.
inline std::string InferredText(const Call& call) {
  const absl::StatusOr<std::vector<TensorType>> types = Infer(call);
  if (!types.ok()) return absl::StatusCodeToString(types.status().code());
  std::string text;
  for (const TensorType& type : *types) text += (text.empty() ? "" : " ") + type.ToString();
  return text;
}

// The outputs of a call whose arguments have values, in real numbers or in GF(p).
inline absl::StatusOr<std::vector<EvalTensor>> Evaluate(const Call& call, Numbers numbers) {
  std::vector<EvalTensor> values(call.arguments.size());
  std::vector<const EvalTensor*> inputs(call.arguments.size(), nullptr);
  for (size_t i = 0; i < values.size(); ++i) {
    const std::optional<Tensor>& value = call.arguments[i].value;
    if (!value.has_value()) continue;
    values[i] = numbers == Numbers::kField ? ToFieldTensor(*value) : ToEvalTensor(*value);
    inputs[i] = &values[i];
  }
  const std::vector<const Tensor*> constants = ConstantsOf(call);
  return RunOperator({call.op, call.attributes, constants, call.output_count}, inputs, numbers);
}

inline absl::StatusOr<std::vector<Tensor>> Evaluate(const Call& call) {
  PLAIT_ASSIGN_OR_RETURN(const std::vector<EvalTensor> outputs, Evaluate(call, Numbers::kReal));
  std::vector<Tensor> tensors;
  for (const EvalTensor& output : outputs) tensors.push_back(FromEvalTensor(output));
  return tensors;
}

// Output 0; empty when the call fails.
inline std::vector<double> Doubles(const Call& call) {
  const absl::StatusOr<std::vector<Tensor>> outputs = Evaluate(call);
  if (!outputs.ok()) return {};
  return (*outputs)[0].AsDoubles();
}

inline std::vector<int64_t> Integers(const Call& call) {
  const absl::StatusOr<std::vector<Tensor>> outputs = Evaluate(call);
  if (!outputs.ok()) return {};
  return (*outputs)[0].AsInt64s();
}

inline Tensor Floats(Shape shape, const std::vector<float>& values) {
  return Tensor::Of<float>(std::move(shape), values);
}

inline Tensor Int64s(const std::vector<int64_t>& values) { return Tensor::Int64s(values); }

inline Tensor Bools(Shape shape, const std::vector<int64_t>& values) {
  return Tensor::FromInt64s(TensorType{DataType::kBool, std::move(shape)}, values);
}

inline Tensor OfType(DataType dtype, const std::vector<int64_t>& values) {
  return Tensor::FromInt64s(TensorType{dtype, {static_cast<int64_t>(values.size())}}, values);
}

// A node of `opset` on its way through OpSpec::raise or lower.
inline VersionedNode Versioned(int opset, const Call& call) {
  VersionedNode node;
  node.opset = opset;
  node.attributes = call.attributes;
  node.output_count = call.output_count;
  for (const Argument& argument : call.arguments) {
    node.constants.push_back(argument.value);
    node.present.push_back(argument.type.known());
    node.input_types.push_back(argument.type);
  }
  return node;
}

// The node as a call again.
inline Call CallOf(OpKind op, const VersionedNode& node) {
  Call call{op, node.attributes, {}, node.output_count};
  for (size_t i = 0; i < node.present.size(); ++i) {
    Argument argument(node.input_types[i]);
    argument.value = node.constants[i];
    call.arguments.push_back(std::move(argument));
  }
  return call;
}

}  // namespace plait
