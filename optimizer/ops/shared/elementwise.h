#pragma once

#include <type_traits>
#include <vector>

#include "absl/functional/function_ref.h"
#include "optimizer/ops/shared/broadcast.h"
#include "optimizer/ops/shared/op_spec.h"
#include "optimizer/ops/shared/type_set.h"

// What elementwise operators share. An operator says which element types it takes (InferUnary and
// its kind) and what it does to one element, by the family that its function belongs to:
//
//   EvaluateFloat...   needs the reals: Exp, Sqrt. Float tensors only, and no meaning in GF(p).
//   EvaluateNumber...  needs an order or a truncation: Max, Mod. Any numbers, not GF(p).
//   EvaluateRing...    needs sums and products only: Add, Neg. Everywhere.
//
// GF(p) has no Exp because exp(a + b) = exp(a) exp(b) has no solution in it but constants (its sums
// go round after p steps, its products after p - 1), and no order because 0 < 1 < 2 < ... comes
// back to 0. A rule over such operators is checked in floating point instead of being proved.
//
// Functions get the number as its type orders it: double, int64_t, or uint64_t for unsigned 64-bit
// tensors, which are held as the int64_t of the same bits. Narrower types are widened, and the
// caller wraps the result (RoundToType).
namespace plait {

// One output of input 0's type.
// Errors: as CheckDataType.
Types InferUnary(const OpCall& call, TypeSet allowed);

// One output of the broadcast shape of the inputs, whose element types are equal. Variadic
// operators use it too.
// Errors: as CheckDataType and CheckSameDataType; InvalidArgument when the shapes do not broadcast.
Types InferBroadcast(const OpCall& call, TypeSet allowed);

// As InferBroadcast, with bool elements: `allowed` speaks of the inputs.
Types InferComparison(const OpCall& call, TypeSet allowed);

// The same for OpSpec::infer, which is a plain function: the set is part of its name.
template <TypeSet allowed>
Types InferUnaryOf(const OpCall& call) {
  return InferUnary(call, allowed);
}
template <TypeSet allowed>
Types InferBroadcastOf(const OpCall& call) {
  return InferBroadcast(call, allowed);
}
template <TypeSet allowed>
Types InferComparisonOf(const OpCall& call) {
  return InferComparison(call, allowed);
}

// What an operator answers to field elements that it cannot compute with: Unimplemented.
absl::Status NoMeaningInField();

// What an output vector holds for a function's result: doubles, field elements, else int64. A bool
// becomes 0 or 1, an unsigned value the int64 of the same bits.
template <typename Result>
using Stored =
    std::conditional_t<std::is_same_v<Result, double> || std::is_same_v<Result, FieldElement>,
                       Result, int64_t>;

// outputs[0][i] = function(inputs[0][i]) for doubles.
// Errors: Unimplemented in GF(p).
absl::Status EvaluateFloatUnary(EvalInputs inputs, EvalOutputs outputs,
                                absl::FunctionRef<double(double)> function);

// The loops. A function object as a template parameter is inlined into them, where a pointer would
// be called per element; that these are templates is why they stand in a header.
namespace elementwise_internal {

// Both hold `Value`s and compute with `Number`s.
template <typename Number, typename Value, typename Function>
void Map(const std::vector<Value>& input, EvalTensor* output, Function function) {
  using Result = Stored<decltype(function(Number{}))>;
  std::vector<Result> results(input.size());
  for (size_t i = 0; i < input.size(); ++i) {
    results[i] = static_cast<Result>(function(static_cast<Number>(input[i])));
  }
  output->values = std::move(results);
}

// The same for two inputs, whose shapes broadcast to the output's.
template <typename Number, typename Value, typename Function>
void Zip(const EvalTensor& a, const EvalTensor& b, EvalTensor* output, Function function) {
  using Result = Stored<decltype(function(Number{}, Number{}))>;
  const std::vector<Value>& a_values = std::get<std::vector<Value>>(a.values);
  const std::vector<Value>& b_values = std::get<std::vector<Value>>(b.values);
  const Shape& shape = output->type.shape;
  std::vector<Result> results(static_cast<size_t>(ElementsOf(shape)));
  const std::array<Shape, 2> strides = {BroadcastStrides(a.type.shape, shape),
                                        BroadcastStrides(b.type.shape, shape)};
  ForEachIndex(shape, strides, [&](int64_t index, const std::array<int64_t, 2>& at) {
    results[index] = static_cast<Result>(
        function(static_cast<Number>(a_values[at[0]]), static_cast<Number>(b_values[at[1]])));
  });
  output->values = std::move(results);
}

}  // namespace elementwise_internal

// outputs[0][i] = function(inputs[0][i]); `function` takes double, int64_t and, for uint64 tensors,
// uint64_t. Errors: Unimplemented in GF(p).
template <typename Function>
absl::Status EvaluateNumberUnary(EvalInputs inputs, EvalOutputs outputs, Function function) {
  const EvalTensor& input = *inputs[0];
  if (const auto* floats = std::get_if<std::vector<double>>(&input.values)) {
    elementwise_internal::Map<double>(*floats, &outputs[0], function);
    return absl::OkStatus();
  }
  const auto* integers = std::get_if<std::vector<int64_t>>(&input.values);
  if (integers == nullptr) return NoMeaningInField();
  if (input.type.dtype == DataType::kUint64) {
    elementwise_internal::Map<uint64_t>(*integers, &outputs[0], function);
  } else {
    elementwise_internal::Map<int64_t>(*integers, &outputs[0], function);
  }
  return absl::OkStatus();
}

// The same for functions of sums and products, which mean something in every ring: `function` takes
// double, FieldElement and uint64_t, whose arithmetic wraps as two's complement does (signed
// overflow would be undefined). Never fails.
template <typename Function>
absl::Status EvaluateRingUnary(EvalInputs inputs, EvalOutputs outputs, Function function) {
  const EvalTensor& input = *inputs[0];
  if (const auto* floats = std::get_if<std::vector<double>>(&input.values)) {
    elementwise_internal::Map<double>(*floats, &outputs[0], function);
  } else if (const auto* elements = std::get_if<std::vector<FieldElement>>(&input.values)) {
    elementwise_internal::Map<FieldElement>(*elements, &outputs[0], function);
  } else {
    elementwise_internal::Map<uint64_t>(std::get<std::vector<int64_t>>(input.values), &outputs[0],
                                        function);
  }
  return absl::OkStatus();
}

// outputs[0] = function(inputs[0], inputs[1]) with broadcasting; types as in EvaluateNumberUnary.
// Both inputs have one element type (InferBroadcast), so that one branch decides for both.
// Errors: Unimplemented in GF(p).
template <typename Function>
absl::Status EvaluateNumberBinary(EvalInputs inputs, EvalOutputs outputs, Function function) {
  const EvalTensor& a = *inputs[0];
  const EvalTensor& b = *inputs[1];
  if (std::holds_alternative<std::vector<FieldElement>>(a.values)) return NoMeaningInField();
  if (std::holds_alternative<std::vector<double>>(a.values)) {
    elementwise_internal::Zip<double, double>(a, b, &outputs[0], function);
  } else if (a.type.dtype == DataType::kUint64) {
    elementwise_internal::Zip<uint64_t, int64_t>(a, b, &outputs[0], function);
  } else {
    elementwise_internal::Zip<int64_t, int64_t>(a, b, &outputs[0], function);
  }
  return absl::OkStatus();
}

// outputs[0] = function(inputs[0], inputs[1]) with broadcasting; types as in EvaluateRingUnary.
// Never fails.
template <typename Function>
absl::Status EvaluateRingBinary(EvalInputs inputs, EvalOutputs outputs, Function function) {
  const EvalTensor& a = *inputs[0];
  const EvalTensor& b = *inputs[1];
  if (std::holds_alternative<std::vector<double>>(a.values)) {
    elementwise_internal::Zip<double, double>(a, b, &outputs[0], function);
  } else if (std::holds_alternative<std::vector<FieldElement>>(a.values)) {
    elementwise_internal::Zip<FieldElement, FieldElement>(a, b, &outputs[0], function);
  } else {
    elementwise_internal::Zip<uint64_t, int64_t>(a, b, &outputs[0], function);
  }
  return absl::OkStatus();
}

// outputs[0] = Operation()(inputs[0], inputs[1]) with broadcasting, bit by bit: integers are held
// with their sign, so that narrower ones keep their own bits when the caller wraps the result.
// Never fails. REQUIRES: integers.
template <typename Operation>
absl::Status EvaluateBits(EvalInputs inputs, EvalOutputs outputs) {
  elementwise_internal::Zip<int64_t, int64_t>(*inputs[0], *inputs[1], &outputs[0], Operation{});
  return absl::OkStatus();
}

// outputs[0] = function(... function(inputs[0], inputs[1]) ..., inputs[n-1]) with broadcasting,
// where `evaluate_pair` evaluates one application. From left to right: the order decides how a sum
// of floats is rounded.
// Errors: those of `evaluate_pair`.
absl::Status EvaluateFold(
    EvalInputs inputs, EvalOutputs outputs,
    absl::FunctionRef<absl::Status(EvalInputs inputs, EvalOutputs outputs)> evaluate_pair);

}  // namespace plait
