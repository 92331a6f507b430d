#include "optimizer/rules/generator/general_types.h"

#include <utility>

#include "optimizer/rules/generator/size_inference.h"

namespace plait {
namespace {

// False for types that cannot be.
bool Run(const Core& core, const Sketch& sketch, std::vector<SymbolicSizes> values,
         SizeInference* inference, std::vector<SymbolicSizes>* outputs) {
  for (const Sketch::Step& step : sketch.steps) {
    const CoreOperator& core_operator = core.operators[step.op];
    std::vector<SymbolicSizes> inputs;
    for (const int input : step.inputs) inputs.push_back(values[input]);
    const SizeInference::Use use{core_operator.op, core_operator.attributes, core_operator.outputs};
    if (!inference->Step(use, inputs, &values)) return false;
  }
  for (const int output : sketch.outputs) outputs->push_back(values[output]);
  return true;
}

}  // namespace

std::optional<std::vector<TensorType>> GeneralTypes(const Core& core, const Sketch& source,
                                                    const Sketch& target,
                                                    absl::Span<const int> inputs) {
  SizeInference inference;
  std::vector<SymbolicSizes> values;
  for (const TensorType& type : core.inputs) {
    SymbolicSizes sizes;
    for (const int64_t size : type.shape) {
      sizes.push_back({size == 1 || size == 3 ? inference.Fixed(size) : inference.NewTerm()});
    }
    values.push_back(std::move(sizes));
  }
  std::vector<SymbolicSizes> before;
  std::vector<SymbolicSizes> after;
  if (!Run(core, source, values, &inference, &before)) return std::nullopt;
  if (!Run(core, target, values, &inference, &after)) return std::nullopt;
  for (size_t i = 0; i < before.size(); ++i) {
    if (!inference.Equal(before[i], after[i])) return std::nullopt;
  }
  if (!inference.Close()) return std::nullopt;
  SizeNumbers numbers;
  std::vector<TensorType> types;
  for (const int input : inputs) {
    TensorType type = core.inputs[input];
    for (int axis = 0; axis < type.rank(); ++axis) {
      type.shape[axis] = numbers.Of(inference, values[input][axis][0], axis);
      if (type.shape[axis] == 0) return std::nullopt;
    }
    types.push_back(std::move(type));
  }
  return types;
}

}  // namespace plait
