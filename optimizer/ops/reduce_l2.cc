#include <cmath>

#include "base/status_macros.h"
#include "optimizer/ops/shared/elementwise.h"
#include "optimizer/ops/shared/reduction.h"

namespace plait {
namespace {

absl::Status Evaluate(const OpCall& call, EvalInputs inputs, EvalOutputs outputs) {
  auto* y = std::get_if<std::vector<double>>(&outputs[0].values);
  if (y == nullptr) return NoMeaningInField();
  PLAIT_ASSIGN_OR_RETURN(const Reduction reduction, ReductionOf(call));
  Reduce(
      reduction, *inputs[0], 0.0, [](double sum, double x) { return sum + x * x; }, y);
  for (double& value : *y) value = std::sqrt(value);
  return absl::OkStatus();
}

// What is left of it over no axes.
absl::StatusOr<std::vector<TensorId>> Expand(const Node& node, GraphBuilder* builder) {
  return ExpandElements(node, builder, [](TensorId x, Expansion* expansion) {
    return expansion->Add(OpKind::kAbs, {x});
  });
}

}  // namespace

// y = the root of the sum of x^2 over the axes, which are an input since opset 18.
const OpSpec kReduceL2Spec = {
    .kind = OpKind::kReduceL2,
    .inputs = {1, 2},
    .infer = InferFloatReduce,
    .work = WorkOfReduce,
    .evaluate = Evaluate,
    .raise = RaiseReduceOf<18>,
    .lower = LowerReduceOf<18>,
    .expand = Expand,
    .expands_at_import = ReducesNothing,
};

}  // namespace plait
