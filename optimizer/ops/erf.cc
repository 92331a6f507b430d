#include <cmath>

#include "optimizer/ops/shared/elementwise.h"

namespace plait {

// y = 2 / sqrt(pi) * the integral of exp(-t^2) from 0 to x.
const OpSpec kErfSpec = {
    .kind = OpKind::kErf,
    .since_opset = 9,
    .traits = kElementwiseUnary,
    .infer = InferUnaryOf<TypeSet::kFloat>,
    .evaluate =
        [](const OpCall&, EvalInputs inputs, EvalOutputs outputs) {
          return EvaluateFloatUnary(inputs, outputs, [](double x) { return std::erf(x); });
        },
};

}  // namespace plait
