#include <cmath>

#include "optimizer/ops/shared/elementwise.h"

namespace plait {

// y = x / (1 + |x|)
const OpSpec kSoftsignSpec = {
    .kind = OpKind::kSoftsign,
    .traits = kElementwiseUnary,
    .infer = InferUnaryOf<TypeSet::kFloat>,
    .evaluate =
        [](const OpCall&, EvalInputs inputs, EvalOutputs outputs) {
          return EvaluateFloatUnary(inputs, outputs,
                                    [](double x) { return x / (1 + std::abs(x)); });
        },
};

}  // namespace plait
