#include "optimizer/ops/shared/elementwise.h"

namespace plait {

// y = x where it is larger than alpha, else 0 (Konda, Memisevic and Krueger, 2014). A NaN stays.
const OpSpec kThresholdedReluSpec = {
    .kind = OpKind::kThresholdedRelu,
    .since_opset = 10,
    .traits = kElementwiseUnary,
    .infer = InferUnaryOf<TypeSet::kFloat>,
    .evaluate =
        [](const OpCall& call, EvalInputs inputs, EvalOutputs outputs) {
          const double alpha = call.attributes.Float("alpha", 1.0f);
          return EvaluateFloatUnary(inputs, outputs,
                                    [alpha](double x) { return x <= alpha ? 0 : x; });
        },
};

}  // namespace plait
