#include <cmath>

#include "optimizer/ops/shared/elementwise.h"

namespace plait {

// y = sin(x), in radians.
const OpSpec kSinSpec = {
    .kind = OpKind::kSin,
    .since_opset = 7,
    .traits = kElementwiseUnary,
    .infer = InferUnaryOf<TypeSet::kFloat>,
    .evaluate =
        [](const OpCall&, EvalInputs inputs, EvalOutputs outputs) {
          return EvaluateFloatUnary(inputs, outputs, [](double x) { return std::sin(x); });
        },
};

}  // namespace plait
