#include <algorithm>

#include "optimizer/ops/shared/elementwise.h"

namespace plait {

// y = alpha * x + beta, clipped to [0, 1]. The test for NaN stands first, because clamp's result
// would be unspecified.
const OpSpec kHardSigmoidSpec = {
    .kind = OpKind::kHardSigmoid,
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
