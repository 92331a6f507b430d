#include <cmath>

#include "optimizer/ops/shared/elementwise.h"

namespace plait {

// y = (exp(x) - exp(-x)) / (exp(x) + exp(-x)).
const OpSpec kTanhSpec = {
    .kind = OpKind::kTanh,
    .traits = kElementwiseUnary,
    .infer = InferUnaryOf<TypeSet::kFloat>,
    .evaluate =
        [](const OpCall&, EvalInputs inputs, EvalOutputs outputs) {
          return EvaluateFloatUnary(inputs, outputs, [](double x) { return std::tanh(x); });
        },
};

}  // namespace plait
