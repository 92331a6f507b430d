#include <cmath>

#include "optimizer/ops/shared/elementwise.h"

namespace plait {

// y = log((1 + x) / (1 - x)) / 2, the inverse of Tanh; NaN beyond 1.
const OpSpec kAtanhSpec = {
    .kind = OpKind::kAtanh,
    .since_opset = 9,
    .traits = kElementwiseUnary,
    .infer = InferUnaryOf<TypeSet::kFloat>,
    .evaluate =
        [](const OpCall&, EvalInputs inputs, EvalOutputs outputs) {
          return EvaluateFloatUnary(inputs, outputs, [](double x) { return std::atanh(x); });
        },
};

}  // namespace plait
