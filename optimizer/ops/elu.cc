#include <cmath>

#include "optimizer/ops/shared/elementwise.h"

namespace plait {

// y = x for x >= 0, else alpha * (exp(x) - 1) (Clevert et al., ICLR 2016). expm1 keeps the digits
// of a small x, which exp(x) - 1 would lose.
const OpSpec kEluSpec = {
    .kind = OpKind::kElu,
    .traits = kElementwiseUnary,
    .infer = InferUnaryOf<TypeSet::kFloat>,
    .evaluate =
        [](const OpCall& call, EvalInputs inputs, EvalOutputs outputs) {
          const double alpha = call.attributes.Float("alpha", 1.0f);
          return EvaluateFloatUnary(inputs, outputs,
                                    [&](double x) { return x < 0 ? alpha * std::expm1(x) : x; });
        },
};

}  // namespace plait
