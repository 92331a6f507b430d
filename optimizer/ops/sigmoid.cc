#include <cmath>

#include "optimizer/ops/shared/elementwise.h"

namespace plait {

// y = 1 / (1 + exp(-x)). Where exp overflows, the quotient is 0, which is right.
const OpSpec kSigmoidSpec = {
    .kind = OpKind::kSigmoid,
    .traits = kElementwiseUnary,
    .infer = InferUnaryOf<TypeSet::kFloat>,
    .evaluate =
        [](const OpCall&, EvalInputs inputs, EvalOutputs outputs) {
          return EvaluateFloatUnary(inputs, outputs,
                                    [](double x) { return 1.0 / (1.0 + std::exp(-x)); });
        },
};

}  // namespace plait
