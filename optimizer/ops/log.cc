#include <cmath>

#include "optimizer/ops/shared/elementwise.h"

namespace plait {

// y = the natural logarithm of x: -infinity for 0, NaN below.
const OpSpec kLogSpec = {
    .kind = OpKind::kLog,
    .traits = kElementwiseUnary,
    .infer = InferUnaryOf<TypeSet::kFloat>,
    .evaluate =
        [](const OpCall&, EvalInputs inputs, EvalOutputs outputs) {
          return EvaluateFloatUnary(inputs, outputs, [](double x) { return std::log(x); });
        },
};

}  // namespace plait
