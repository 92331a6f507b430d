#include <cmath>

#include "optimizer/ops/shared/reduction.h"

namespace plait {
namespace {

absl::Status EvaluateReduceLogSum(const OpCall& call, EvalInputs inputs, EvalOutputs outputs) {
  return EvaluateFloatSum(
      call, inputs, outputs, [](double x) { return x; }, [](double sum) { return std::log(sum); });
}

}  // namespace

// y = the logarithm of the sum of x over the axes, which are an input since opset 18; minus
// infinity over no element.
const OpSpec kReduceLogSumSpec = {
    .kind = OpKind::kReduceLogSum,
    .inputs = {1, 2},
    .infer = InferFloatReduce,
    .work = WorkOfReduce,
    .evaluate = EvaluateReduceLogSum,
    .raise = RaiseReduceOf<18>,
    .lower = LowerReduceOf<18>,
    .expand = ExpandElementsBy<OpKind::kLog>,
    .expands_at_import = ReducesNothing,
};

}  // namespace plait
