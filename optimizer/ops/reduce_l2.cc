#include <cmath>
#include <utility>

#include "base/status_macros.h"
#include "optimizer/ops/shared/convert_number.h"
#include "optimizer/ops/shared/reduction.h"

namespace plait {
namespace {

absl::Status EvaluateRoots(const OpCall& call, EvalInputs inputs, EvalOutputs outputs) {
  return EvaluateFloatSum(
      call, inputs, outputs, [](double x) { return x * x; },
      [](double sum) { return std::sqrt(sum); });
}

absl::Status EvaluateReduceL2(const OpCall& call, EvalInputs inputs, EvalOutputs outputs) {
  auto* const y = std::get_if<std::vector<int64_t>>(&outputs[0].values);
  if (y == nullptr) return EvaluateRoots(call, inputs, outputs);
  const DataType dtype = outputs[0].type.dtype;
  std::vector<double> numbers;
  for (const int64_t x : std::get<std::vector<int64_t>>(inputs[0]->values)) {
    numbers.push_back(FloatOf(x, dtype, DataType::kFloat64));
  }
  const EvalTensor floats = {inputs[0]->type, std::move(numbers)};
  EvalTensor roots = {outputs[0].type, std::vector<double>(y->size())};
  PLAIT_RETURN_IF_ERROR(EvaluateRoots(call, {&floats}, {&roots, 1}));
  const auto& root = std::get<std::vector<double>>(roots.values);
  for (size_t i = 0; i < y->size(); ++i) (*y)[i] = IntegerOf(root[i], dtype);
  return absl::OkStatus();
}

}  // namespace

// y = the root of the sum of x^2 over the axes, which are an input since opset 18; cut where it is
// an integer.
const OpSpec kReduceL2Spec = {
    .kind = OpKind::kReduceL2,
    .inputs = {1, 2},
    .infer = InferReduceOf<TypeSet::kNumber>,
    .work = WorkOfReduce,
    .evaluate = EvaluateReduceL2,
    .raise = RaiseReduceOf<18>,
    .lower = LowerReduceOf<18>,
    .expand = ExpandElementsBy<OpKind::kAbs>,
    .expands_at_import = ReducesNothing,
};

}  // namespace plait
