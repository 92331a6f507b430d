#include <cmath>

#include "optimizer/ops/shared/elementwise.h"

namespace plait {

// y = (exp(x) + exp(-x)) / 2
const OpSpec kCoshSpec = {
    .kind = OpKind::kCosh,
    .since_opset = 9,
    .traits = kElementwiseUnary,
    .infer = InferUnaryOf<TypeSet::kFloat>,
    .evaluate =
        [](const OpCall&, EvalInputs inputs, EvalOutputs outputs) {
          return EvaluateFloatUnary(inputs, outputs, [](double x) { return std::cosh(x); });
        },
};

}  // namespace plait
