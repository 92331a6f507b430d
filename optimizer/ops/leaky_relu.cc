#include "optimizer/ops/shared/elementwise.h"

namespace plait {

const OpSpec kLeakyReluSpec = {
    .kind = OpKind::kLeakyRelu,
    .since_opset = 1,
    .inputs_min = 1,
    .inputs_max = 1,
    .outputs_min = 1,
    .outputs_max = 1,
    .traits = kElementwiseUnary,
    .infer = InferUnaryOf<TypeSet::kFloat>,
    .evaluate =
        [](const OpCall& call, EvalInputs inputs, EvalOutputs outputs) {
          const double alpha = call.attributes.Float("alpha", 0.01f);
          return EvaluateFloatUnary(inputs, outputs,
                                    [&](double x) { return x < 0 ? alpha * x : x; });
        },
};

}  // namespace plait
