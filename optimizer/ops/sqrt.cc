#include <cmath>

#include "optimizer/ops/shared/elementwise.h"

namespace plait {

// y = the square root of x; NaN below 0. Half of a field's elements have none, so that it has no
// meaning in GF(p).
const OpSpec kSqrtSpec = {
    .kind = OpKind::kSqrt,
    .traits = kElementwiseUnary,
    .infer = InferUnaryOf<TypeSet::kFloat>,
    .evaluate =
        [](const OpCall&, EvalInputs inputs, EvalOutputs outputs) {
          return EvaluateFloatUnary(inputs, outputs, [](double x) { return std::sqrt(x); });
        },
};

}  // namespace plait
