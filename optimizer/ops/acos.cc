#include <cmath>

#include "optimizer/ops/shared/elementwise.h"

namespace plait {

// y = the angle between 0 and pi whose cosine is x; NaN beyond 1.
const OpSpec kAcosSpec = {
    .kind = OpKind::kAcos,
    .since_opset = 7,
    .traits = kElementwiseUnary,
    .infer = InferUnaryOf<TypeSet::kFloat>,
    .evaluate =
        [](const OpCall&, EvalInputs inputs, EvalOutputs outputs) {
          return EvaluateFloatUnary(inputs, outputs, [](double x) { return std::acos(x); });
        },
};

}  // namespace plait
