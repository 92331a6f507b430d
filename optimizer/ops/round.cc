#include <cmath>

#include "optimizer/ops/shared/elementwise.h"

namespace plait {

// y = the whole number that is nearest to x, the even one of two.
const OpSpec kRoundSpec = {
    .kind = OpKind::kRound,
    .since_opset = 11,
    .traits = kElementwiseUnary,
    .infer = InferUnaryOf<TypeSet::kFloat>,
    .evaluate =
        [](const OpCall&, EvalInputs inputs, EvalOutputs outputs) {
          return EvaluateFloatUnary(inputs, outputs, [](double x) { return std::nearbyint(x); });
        },
};

}  // namespace plait
