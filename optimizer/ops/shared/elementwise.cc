#include "optimizer/ops/shared/elementwise.h"

#include <utility>

#include "base/status_macros.h"
#include "optimizer/ops/shared/axes.h"

namespace plait {

Types InferUnary(const OpCall& call, TypeSet allowed) {
  PLAIT_RETURN_IF_ERROR(CheckDataType(call, 0, allowed));
  return std::vector<TensorType>{call.input_types[0]};
}

// The shape is checked again at the end: inputs within the limits may broadcast to an output
// beyond.
Types InferBroadcast(const OpCall& call, TypeSet allowed) {
  PLAIT_RETURN_IF_ERROR(CheckDataType(call, 0, allowed));
  Shape shape = call.input_types[0].shape;
  for (size_t i = 1; i < call.input_types.size(); ++i) {
    PLAIT_RETURN_IF_ERROR(CheckDataType(call, i, allowed));
    PLAIT_RETURN_IF_ERROR(CheckSameDataType(call, 0, i));
    PLAIT_ASSIGN_OR_RETURN(shape, BroadcastShapes(shape, call.input_types[i].shape));
  }
  PLAIT_ASSIGN_OR_RETURN(TensorType type, CheckedType(call.input_types[0].dtype, std::move(shape)));
  return std::vector<TensorType>{std::move(type)};
}

Types InferComparison(const OpCall& call, TypeSet allowed) {
  PLAIT_ASSIGN_OR_RETURN(std::vector<TensorType> types, InferBroadcast(call, allowed));
  types[0].dtype = DataType::kBool;
  return types;
}

absl::Status NoMeaningInField() {
  return absl::UnimplementedError("has no meaning in a prime field");
}

// Only polynomials and quotients have a meaning modulo a prime; a verification by fields skips
// others.
absl::Status EvaluateFloatUnary(EvalInputs inputs, EvalOutputs outputs,
                                absl::FunctionRef<double(double)> function) {
  const auto* floats = std::get_if<std::vector<double>>(&inputs[0]->values);
  if (floats == nullptr) return NoMeaningInField();
  elementwise_internal::Map<double>(*floats, &outputs[0], function);
  return absl::OkStatus();
}

// Intermediate results are not rounded to the element type: the caller rounds the last one.
absl::Status EvaluateFold(
    EvalInputs inputs, EvalOutputs outputs,
    absl::FunctionRef<absl::Status(EvalInputs inputs, EvalOutputs outputs)> evaluate_pair) {
  EvalTensor total = *inputs[0];
  for (size_t i = 1; i < inputs.size(); ++i) {
    PLAIT_ASSIGN_OR_RETURN(Shape shape, BroadcastShapes(total.type.shape, inputs[i]->type.shape));
    EvalTensor next;
    next.type = TensorType{total.type.dtype, std::move(shape)};
    const EvalTensor* const pair[] = {&total, inputs[i]};
    PLAIT_RETURN_IF_ERROR(evaluate_pair(pair, absl::MakeSpan(&next, 1)));
    total = std::move(next);
  }
  outputs[0].values = std::move(total.values);
  return absl::OkStatus();
}

}  // namespace plait
