#include <cmath>

#include "optimizer/ops/shared/elementwise.h"

namespace plait {

// y = exp(x). No polynomial, so that it has no meaning in GF(p).
const OpSpec kExpSpec = {
    .kind = OpKind::kExp,
    .traits = kElementwiseUnary,
    .infer = InferUnaryOf<TypeSet::kFloat>,
    .evaluate =
        [](const OpCall&, EvalInputs inputs, EvalOutputs outputs) {
          return EvaluateFloatUnary(inputs, outputs, [](double x) { return std::exp(x); });
        },
};

}  // namespace plait
