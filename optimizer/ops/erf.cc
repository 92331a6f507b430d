#include <cmath>

#include "optimizer/ops/shared/elementwise.h"

namespace plait {

const OpSpec kErfSpec = {
    .kind = OpKind::kErf,
    .since_opset = 9,
    .inputs_min = 1,
    .inputs_max = 1,
    .outputs_min = 1,
    .outputs_max = 1,
    .traits = kElementwiseUnary,
    .infer = InferUnaryOf<TypeSet::kFloat>,
    .evaluate =
        [](const OpCall&, EvalInputs inputs, EvalOutputs outputs) {
          return EvaluateFloatUnary(inputs, outputs, [](double x) { return std::erf(x); });
        },
};

}  // namespace plait
