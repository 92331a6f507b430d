#include "optimizer/ops/shared/elementwise.h"

namespace plait {

const OpSpec kIsNaNSpec = {
    .kind = OpKind::kIsNaN,
    .since_opset = 9,
    .inputs_min = 1,
    .inputs_max = 1,
    .outputs_min = 1,
    .outputs_max = 1,
    .traits = kElementwiseUnary,
    .infer = InferComparisonOf<TypeSet::kFloat>,
    .evaluate =
        [](const OpCall&, EvalInputs inputs, EvalOutputs outputs) {
          return EvaluateNumberUnary(inputs, outputs, [](auto x) { return x != x; });
        },
};

}  // namespace plait
