#include "optimizer/ops/shared/elementwise.h"

namespace plait {

// y = whether x is a NaN: the one value that differs from itself.
const OpSpec kIsNaNSpec = {
    .kind = OpKind::kIsNaN,
    .since_opset = 9,
    .traits = kElementwiseUnary,
    .infer = InferComparisonOf<TypeSet::kFloat>,
    .evaluate =
        [](const OpCall&, EvalInputs inputs, EvalOutputs outputs) {
          return EvaluateNumberUnary(inputs, outputs, [](auto x) { return x != x; });
        },
};

}  // namespace plait
