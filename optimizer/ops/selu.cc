#include <cmath>

#include "optimizer/ops/shared/elementwise.h"

namespace plait {

// y = gamma * x for x >= 0, else gamma * alpha * (exp(x) - 1) (Klambauer et al., NeurIPS 2017).
const OpSpec kSeluSpec = {
    .kind = OpKind::kSelu,
    .traits = kElementwiseUnary,
    .infer = InferUnaryOf<TypeSet::kFloat>,
    .evaluate =
        [](const OpCall& call, EvalInputs inputs, EvalOutputs outputs) {
          const double alpha = call.attributes.Float("alpha", 1.67326319217681884765625f);
          const double gamma = call.attributes.Float("gamma", 1.05070102214813232421875f);
          return EvaluateFloatUnary(inputs, outputs, [=](double x) {
            return gamma * (x < 0 ? alpha * std::expm1(x) : x);
          });
        },
};

}  // namespace plait
