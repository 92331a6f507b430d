#include <cmath>

#include "optimizer/ops/shared/elementwise.h"

namespace plait {

// y = sin(x) / cos(x), of x in radians.
const OpSpec kTanSpec = {
    .kind = OpKind::kTan,
    .since_opset = 7,
    .traits = kElementwiseUnary,
    .infer = InferUnaryOf<TypeSet::kFloat>,
    .evaluate =
        [](const OpCall&, EvalInputs inputs, EvalOutputs outputs) {
          return EvaluateFloatUnary(inputs, outputs, [](double x) { return std::tan(x); });
        },
};

}  // namespace plait
