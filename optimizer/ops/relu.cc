#include "optimizer/ops/shared/elementwise.h"

namespace plait {

// A NaN stays a NaN.
const OpSpec kReluSpec = {
    .kind = OpKind::kRelu,
    .since_opset = 1,
    .inputs_min = 1,
    .inputs_max = 1,
    .outputs_min = 1,
    .outputs_max = 1,
    .traits = kElementwiseUnary,
    .infer = InferUnaryOf<TypeSet::kNumber>,
    .evaluate =
        [](const OpCall&, EvalInputs inputs, EvalOutputs outputs) {
          return EvaluateNumberUnary(inputs, outputs,
                                     [](auto x) { return x < decltype(x){} ? decltype(x){} : x; });
        },
};

}  // namespace plait
