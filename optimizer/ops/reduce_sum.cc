#include "base/status_macros.h"
#include "optimizer/ops/shared/matrix_product.h"
#include "optimizer/ops/shared/reduction.h"

namespace plait {
namespace {

absl::Status EvaluateReduceSum(const OpCall& call, EvalInputs inputs, EvalOutputs outputs) {
  PLAIT_ASSIGN_OR_RETURN(const Reduction reduction, ReductionOf(call));
  std::visit(
      [&]<typename T>(std::vector<T>& output) {
        Reduce(
            reduction, *inputs[0], T(0), [](T a, T b) { return MultiplyAdd(a, T(1), b); }, &output);
      },
      outputs[0].values);
  return absl::OkStatus();
}

}  // namespace

// y = the sum of x over the axes; 0 over no element. The axes are an input since opset 13, earlier
// than those of the other reductions.
const OpSpec kReduceSumSpec = {
    .kind = OpKind::kReduceSum,
    .inputs = {1, 2},
    .infer = InferReduceOf<TypeSet::kNumber>,
    .work = WorkOfReduce,
    .evaluate = EvaluateReduceSum,
    .raise = RaiseReduceOf<13>,
    .lower = LowerReduceOf<13>,
    .expand = ExpandReduce,
};

}  // namespace plait
