#include <cmath>

#include "optimizer/ops/shared/elementwise.h"

namespace plait {

const OpSpec kLogSpec = {
    .kind = OpKind::kLog,
    .since_opset = 1,
    .inputs_min = 1,
    .inputs_max = 1,
    .outputs_min = 1,
    .outputs_max = 1,
    .traits = kElementwiseUnary,
    .infer = InferUnaryOf<TypeSet::kFloat>,
    .evaluate =
        [](const OpCall&, EvalInputs inputs, EvalOutputs outputs) {
          return EvaluateFloatUnary(inputs, outputs, [](double x) { return std::log(x); });
        },
};

}  // namespace plait
