#include <cmath>

#include "optimizer/ops/shared/elementwise.h"

namespace plait {

// y = the largest integer <= x.
const OpSpec kFloorSpec = {
    .kind = OpKind::kFloor,
    .traits = kElementwiseUnary,
    .infer = InferUnaryOf<TypeSet::kFloat>,
    .evaluate =
        [](const OpCall&, EvalInputs inputs, EvalOutputs outputs) {
          return EvaluateFloatUnary(inputs, outputs, [](double x) { return std::floor(x); });
        },
};

}  // namespace plait
