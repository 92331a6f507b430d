#include "optimizer/ops/shared/elementwise.h"

namespace plait {

const OpSpec kNotSpec = {
    .kind = OpKind::kNot,
    .since_opset = 1,
    .inputs_min = 1,
    .inputs_max = 1,
    .outputs_min = 1,
    .outputs_max = 1,
    .traits = kElementwiseUnary,
    .infer = InferUnaryOf<TypeSet::kBool>,
    .evaluate =
        [](const OpCall&, EvalInputs inputs, EvalOutputs outputs) {
          return EvaluateNumberUnary(inputs, outputs, [](auto x) { return x == 0; });
        },
};

}  // namespace plait
