#include "optimizer/ops/shared/elementwise.h"

namespace plait {

// y = x for x >= 0, else alpha * x. An order decides, so that it has no meaning in GF(p), although
// both pieces are linear.
const OpSpec kLeakyReluSpec = {
    .kind = OpKind::kLeakyRelu,
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
