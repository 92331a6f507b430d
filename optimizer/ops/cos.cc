#include <cmath>

#include "optimizer/ops/shared/elementwise.h"

namespace plait {

// y = cos(x), in radians.
const OpSpec kCosSpec = {
    .kind = OpKind::kCos,
    .since_opset = 7,
    .traits = kElementwiseUnary,
    .infer = InferUnaryOf<TypeSet::kFloat>,
    .evaluate =
        [](const OpCall&, EvalInputs inputs, EvalOutputs outputs) {
          return EvaluateFloatUnary(inputs, outputs, [](double x) { return std::cos(x); });
        },
};

}  // namespace plait
