#include "base/status_macros.h"
#include "optimizer/ops/shared/matrix_product.h"
#include "optimizer/ops/shared/reduction.h"

namespace plait {
namespace {

absl::Status EvaluateReduceProd(const OpCall& call, EvalInputs inputs, EvalOutputs outputs) {
  PLAIT_ASSIGN_OR_RETURN(const Reduction reduction, ReductionOf(call));
  std::visit(
      [&]<typename T>(std::vector<T>& output) {
        Reduce(
            reduction, *inputs[0], T(1), [](T a, T b) { return MultiplyAdd(a, b, T(0)); }, &output);
      },
      outputs[0].values);
  return absl::OkStatus();
}

}  // namespace

// y = the product of x over the axes; 1 over no element. The axes are an input since opset 18.
const OpSpec kReduceProdSpec = {
    .kind = OpKind::kReduceProd,
    .inputs = {1, 2},
    .infer = InferReduceOf<TypeSet::kNumber>,
    .work = WorkOfReduce,
    .evaluate = EvaluateReduceProd,
    .raise = RaiseReduceOf<18>,
    .lower = LowerReduceOf<18>,
    .expand = ExpandReduce,
};

}  // namespace plait
