#include "optimizer/ops/shared/elementwise.h"

namespace plait {

// y = not x, for bools.
const OpSpec kNotSpec = {
    .kind = OpKind::kNot,
    .traits = kElementwiseUnary,
    .infer = InferUnaryOf<TypeSet::kBool>,
    .evaluate =
        [](const OpCall&, EvalInputs inputs, EvalOutputs outputs) {
          return EvaluateNumberUnary(inputs, outputs, [](auto x) { return x == 0; });
        },
};

}  // namespace plait
