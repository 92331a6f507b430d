#include <cmath>

#include "optimizer/ops/shared/elementwise.h"

namespace plait {

// y = the smallest integer >= x.
const OpSpec kCeilSpec = {
    .kind = OpKind::kCeil,
    .traits = kElementwiseUnary,
    .infer = InferUnaryOf<TypeSet::kFloat>,
    .evaluate =
        [](const OpCall&, EvalInputs inputs, EvalOutputs outputs) {
          return EvaluateFloatUnary(inputs, outputs, [](double x) { return std::ceil(x); });
        },
};

}  // namespace plait
