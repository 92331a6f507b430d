#include "optimizer/ops/shared/elementwise.h"

namespace plait {

const OpSpec kNegSpec = {
    .kind = OpKind::kNeg,
    .since_opset = 1,
    .inputs_min = 1,
    .inputs_max = 1,
    .outputs_min = 1,
    .outputs_max = 1,
    .traits = kElementwiseUnary,
    .infer = InferUnaryOf<TypeSet::kNumber>,
    .evaluate =
        [](const OpCall&, EvalInputs inputs, EvalOutputs outputs) {
          return EvaluateRingUnary(inputs, outputs, [](auto x) { return decltype(x){} - x; });
        },
};

}  // namespace plait
