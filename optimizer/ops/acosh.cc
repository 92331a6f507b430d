#include <cmath>

#include "optimizer/ops/shared/elementwise.h"

namespace plait {

// y = log(x + sqrt(x^2 - 1)), the inverse of Cosh; NaN below 1.
const OpSpec kAcoshSpec = {
    .kind = OpKind::kAcosh,
    .since_opset = 9,
    .traits = kElementwiseUnary,
    .infer = InferUnaryOf<TypeSet::kFloat>,
    .evaluate =
        [](const OpCall&, EvalInputs inputs, EvalOutputs outputs) {
          return EvaluateFloatUnary(inputs, outputs, [](double x) { return std::acosh(x); });
        },
};

}  // namespace plait
