#include "optimizer/ops/shared/elementwise.h"

namespace plait {

// y = -x: 0 - x in whichever ring x is of.
const OpSpec kNegSpec = {
    .kind = OpKind::kNeg,
    .traits = kElementwiseUnary,
    .infer = InferUnaryOf<TypeSet::kNumber>,
    .evaluate =
        [](const OpCall&, EvalInputs inputs, EvalOutputs outputs) {
          return EvaluateRingUnary(inputs, outputs, [](auto x) { return decltype(x){} - x; });
        },
};

}  // namespace plait
