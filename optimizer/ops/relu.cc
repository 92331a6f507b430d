#include "optimizer/ops/shared/elementwise.h"

namespace plait {

// y = max(x, 0); a NaN stays a NaN. Integers came with opset 14. An order decides, so that it has
// no meaning in GF(p).
const OpSpec kReluSpec = {
    .kind = OpKind::kRelu,
    .traits = kElementwiseUnary,
    .infer = InferUnaryOf<TypeSet::kNumber>,
    .evaluate =
        [](const OpCall&, EvalInputs inputs, EvalOutputs outputs) {
          return EvaluateNumberUnary(inputs, outputs,
                                     [](auto x) { return x < decltype(x){} ? decltype(x){} : x; });
        },
};

}  // namespace plait
