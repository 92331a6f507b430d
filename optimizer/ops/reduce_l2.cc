#include <cmath>

#include "optimizer/ops/shared/reduction.h"

namespace plait {
namespace {

absl::Status EvaluateReduceL2(const OpCall& call, EvalInputs inputs, EvalOutputs outputs) {
  return EvaluateFloatSum(
      call, inputs, outputs, [](double x) { return x * x; },
      [](double sum) { return std::sqrt(sum); });
}

}  // namespace

// y = the root of the sum of x^2 over the axes, which are an input since opset 18.
const OpSpec kReduceL2Spec = {
    .kind = OpKind::kReduceL2,
    .inputs = {1, 2},
    .infer = InferFloatReduce,
    .work = WorkOfReduce,
    .evaluate = EvaluateReduceL2,
    .raise = RaiseReduceOf<18>,
    .lower = LowerReduceOf<18>,
    .expand = ExpandElementsBy<OpKind::kAbs>,
    .expands_at_import = ReducesNothing,
};

}  // namespace plait
