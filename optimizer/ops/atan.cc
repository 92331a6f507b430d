#include <cmath>

#include "optimizer/ops/shared/elementwise.h"

namespace plait {

// y = the angle between -pi/2 and pi/2 whose tangent is x.
const OpSpec kAtanSpec = {
    .kind = OpKind::kAtan,
    .since_opset = 7,
    .traits = kElementwiseUnary,
    .infer = InferUnaryOf<TypeSet::kFloat>,
    .evaluate =
        [](const OpCall&, EvalInputs inputs, EvalOutputs outputs) {
          return EvaluateFloatUnary(inputs, outputs, [](double x) { return std::atan(x); });
        },
};

}  // namespace plait
