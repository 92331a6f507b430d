#include <cmath>

#include "optimizer/ops/shared/elementwise.h"

namespace plait {

// y = log(x + sqrt(x^2 + 1)), the inverse of Sinh.
const OpSpec kAsinhSpec = {
    .kind = OpKind::kAsinh,
    .since_opset = 9,
    .traits = kElementwiseUnary,
    .infer = InferUnaryOf<TypeSet::kFloat>,
    .evaluate =
        [](const OpCall&, EvalInputs inputs, EvalOutputs outputs) {
          return EvaluateFloatUnary(inputs, outputs, [](double x) { return std::asinh(x); });
        },
};

}  // namespace plait
