#include <algorithm>

#include "optimizer/ops/shared/elementwise.h"

namespace plait {

const OpSpec kHardSigmoidSpec = {
    .kind = OpKind::kHardSigmoid,
    .since_opset = 1,
    .inputs_min = 1,
    .inputs_max = 1,
    .outputs_min = 1,
    .outputs_max = 1,
    .traits = kElementwiseUnary,
    .infer = InferUnaryOf<TypeSet::kFloat>,
    .evaluate =
        [](const OpCall& call, EvalInputs inputs, EvalOutputs outputs) {
          const double alpha = call.attributes.Float("alpha", 0.2f);
          const double beta = call.attributes.Float("beta", 0.5f);
          return EvaluateFloatUnary(inputs, outputs, [&](double x) {
            return x != x ? x : std::clamp(alpha * x + beta, 0.0, 1.0);
          });
        },
};

}  // namespace plait
