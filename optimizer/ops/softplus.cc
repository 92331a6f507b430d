#include <algorithm>
#include <cmath>

#include "optimizer/ops/shared/elementwise.h"

namespace plait {

// log(1 + exp(x)), written so that exp cannot overflow.
const OpSpec kSoftplusSpec = {
    .kind = OpKind::kSoftplus,
    .traits = kElementwiseUnary,
    .infer = InferUnaryOf<TypeSet::kFloat>,
    .evaluate =
        [](const OpCall&, EvalInputs inputs, EvalOutputs outputs) {
          return EvaluateFloatUnary(inputs, outputs, [](double x) {
            return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)));
          });
        },
};

}  // namespace plait
