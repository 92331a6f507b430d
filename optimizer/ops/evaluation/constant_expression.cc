#include "optimizer/ops/evaluation/constant_expression.h"

#include <algorithm>
#include <utility>

#include "base/limits.h"
#include "base/status_macros.h"
#include "optimizer/ops/evaluation/evaluate.h"
#include "optimizer/ops/shared/op_spec.h"

namespace plait {

// Weights are not at hand here, so that an expression over one stays an expression.
absl::StatusOr<ConstantRef> ApplyToConstants(OpKind op, AttributesRef attributes,
                                             std::vector<ConstantRef> inputs, int output_index,
                                             int output_count) {
  std::vector<TensorType> input_types;
  std::vector<const Tensor*> values;
  for (const ConstantRef& input : inputs) {
    input_types.push_back(input == nullptr ? TensorType{} : input->type());
    values.push_back(input == nullptr ? nullptr : input->inline_value());
  }
  PLAIT_ASSIGN_OR_RETURN(std::vector<TensorType> types,
                         InferTypes(op, *attributes, input_types, values, output_count));
  const TensorType type = types[output_index];
  const bool readable = std::all_of(inputs.begin(), inputs.end(), [](const ConstantRef& input) {
    return input == nullptr || input->inline_value() != nullptr;
  });
  auto expression = std::make_shared<const Constant>(
      type, Constant::Apply{op, std::move(attributes), std::move(inputs), output_index});
  if (!readable || type.bytes() > kInlineConstantBytesMax) return expression;
  PLAIT_ASSIGN_OR_RETURN(Tensor value, EvaluateConstant(*expression, NoWeights()));
  return Constant::OfTensor(std::move(value));
}

}  // namespace plait
