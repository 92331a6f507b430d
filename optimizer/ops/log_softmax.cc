#include "optimizer/ops/shared/softmax_axis.h"

namespace plait {

// y[i] = x[i] - log(sum over j of exp(x[j])), along one axis since opset 13.
const OpSpec kLogSoftmaxSpec = {
    .kind = OpKind::kLogSoftmax,
    .infer = InferSoftmax,
    .work = WorkOfSoftmax,
    .evaluate =
        [](const OpCall& call, EvalInputs inputs, EvalOutputs outputs) {
          return EvaluateSoftmax(call, inputs, outputs, SoftmaxResult::kLogarithms);
        },
    .raise = RaiseSoftmax,
    .lower = LowerSoftmax,
    .expand = ExpandSoftmax,
};

}  // namespace plait
