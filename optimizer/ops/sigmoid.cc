#include <cmath>

#include "optimizer/ops/shared/elementwise.h"

namespace plait {

const OpSpec kSigmoidSpec = {
    .kind = OpKind::kSigmoid,
    .since_opset = 1,
    .inputs_min = 1,
    .inputs_max = 1,
    .outputs_min = 1,
    .outputs_max = 1,
    .traits = kElementwiseUnary,
    .infer = InferUnaryOf<TypeSet::kFloat>,
    .evaluate =
        [](const OpCall&, EvalInputs inputs, EvalOutputs outputs) {
          return EvaluateFloatUnary(inputs, outputs,
                                    [](double x) { return 1.0 / (1.0 + std::exp(-x)); });
        },
};

}  // namespace plait
