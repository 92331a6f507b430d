#include "optimizer/ops/shared/elementwise.h"
#include "optimizer/ops/shared/versions.h"

namespace plait {

// A NaN in any input gives NaN.
const OpSpec kMaxSpec = {
    .kind = OpKind::kMax,
    .since_opset = 1,
    .inputs_min = 1,
    .inputs_max = kVariadic,
    .outputs_min = 1,
    .outputs_max = 1,
    .traits = kCommutative,
    .infer = InferBroadcastOf<TypeSet::kNumber>,
    .evaluate =
        [](const OpCall&, EvalInputs inputs, EvalOutputs outputs) {
          return EvaluateFold(inputs, outputs, [](EvalInputs pair, EvalOutputs result) {
            return EvaluateNumberBinary(pair, result,
                                        [](auto a, auto b) { return a < b || b != b ? b : a; });
          });
        },
    .lower = LowerVariadic,
};

}  // namespace plait
