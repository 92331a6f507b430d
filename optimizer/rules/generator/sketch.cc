#include "optimizer/rules/generator/sketch.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "optimizer/ops/shared/op_spec.h"

namespace plait {
namespace {

// A value as a term over names. Terms share nothing in a text: sketches are small.
std::vector<std::string> Terms(const Core& core, const Sketch& sketch,
                               absl::Span<const int> names) {
  std::vector<std::string> terms;
  for (size_t i = 0; i < core.inputs.size(); ++i) terms.push_back(absl::StrCat("x", names[i]));
  for (const Sketch::Step& step : sketch.steps) {
    const CoreOperator& core_operator = core.operators[step.op];
    std::vector<std::string> operands;
    for (const int input : step.inputs) operands.push_back(terms[input]);
    if (core_operator.commutes) std::sort(operands.begin(), operands.end());
    const std::string call =
        absl::StrCat(OpKindName(core_operator.op), core_operator.attributes.fingerprint().low, "(",
                     absl::StrJoin(operands, ","), ")");
    for (int i = 0; i < core_operator.outputs; ++i) {
      terms.push_back(core_operator.outputs == 1 ? call : absl::StrCat(call, ".", i));
    }
  }
  return terms;
}

}  // namespace

std::vector<int> InputsRead(const Core& core, const Sketch& sketch) {
  std::vector<int> read;
  const auto meet = [&](int value) {
    if (value >= static_cast<int>(core.inputs.size())) return;
    if (std::find(read.begin(), read.end(), value) == read.end()) read.push_back(value);
  };
  for (const Sketch::Step& step : sketch.steps) {
    for (const int input : step.inputs) meet(input);
  }
  for (const int output : sketch.outputs) meet(output);
  return read;
}

std::vector<std::string> SketchTexts(const Core& core, const Sketch& sketch,
                                     absl::Span<const int> names) {
  const std::vector<std::string> terms = Terms(core, sketch, names);
  std::vector<std::string> outputs;
  for (const int output : sketch.outputs) outputs.push_back(terms[output]);
  return outputs;
}

absl::StatusOr<Graph> GraphOf(const Core& core, const Sketch& sketch, absl::Span<const int> inputs,
                              absl::Span<const TensorType> types) {
  GraphBuilder builder;
  std::vector<TensorId> values(core.inputs.size(), kNoTensor);
  for (size_t i = 0; i < inputs.size(); ++i) {
    values[inputs[i]] = builder.AddInput(types[i], absl::StrCat("x", i));
  }
  for (const Sketch::Step& step : sketch.steps) {
    const CoreOperator& core_operator = core.operators[step.op];
    Node node;
    node.op = core_operator.op;
    node.attributes = MakeAttributes(core_operator.attributes);
    for (const int input : step.inputs) node.inputs.push_back(values[input]);
    if (core_operator.constant) {
      node.inputs.push_back(builder.AddConstant(Constant::OfTensor(*core_operator.constant)));
    }
    PLAIT_ASSIGN_OR_RETURN(const auto output_types,
                           InferTypes(builder, node, core_operator.outputs));
    for (const TensorId output : builder.AddNode(std::move(node), output_types)) {
      values.push_back(output);
    }
  }
  for (const int output : sketch.outputs) builder.AddOutput(values[output]);
  return std::move(builder).Finish();
}

Sketch WithoutStep(const Core& core, const Sketch& sketch, int index) {
  const int inputs = static_cast<int>(core.inputs.size());
  // By value of the sketch: the number in the result.
  std::vector<int> numbers;
  for (int i = 0; i < inputs; ++i) numbers.push_back(i);
  int next = inputs + 1;
  Sketch result;
  for (int i = 0; i < static_cast<int>(sketch.steps.size()); ++i) {
    if (i == index) {
      numbers.push_back(inputs);
      continue;
    }
    Sketch::Step step = sketch.steps[i];
    for (int& input : step.inputs) input = numbers[input];
    for (int j = 0; j < core.operators[step.op].outputs; ++j) numbers.push_back(next++);
    result.steps.push_back(std::move(step));
  }
  for (const int output : sketch.outputs) result.outputs.push_back(numbers[output]);
  return result;
}

}  // namespace plait
