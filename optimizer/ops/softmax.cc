#include "optimizer/ops/shared/softmax_axis.h"

namespace plait {

// y[i] = exp(x[i]) / sum over j of exp(x[j]), along one axis since opset 13.
const OpSpec kSoftmaxSpec = {
    .kind = OpKind::kSoftmax,
    .infer = InferSoftmax,
    .work = WorkOfSoftmax,
    .evaluate =
        [](const OpCall& call, EvalInputs inputs, EvalOutputs outputs) {
          return EvaluateSoftmax(call, inputs, outputs, SoftmaxResult::kShares);
        },
    .raise = RaiseSoftmax,
    .lower = LowerSoftmax,
    .expand = ExpandSoftmax,
};

}  // namespace plait
