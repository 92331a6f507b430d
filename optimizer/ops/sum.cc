#include "optimizer/ops/shared/elementwise.h"
#include "optimizer/ops/shared/versions.h"

namespace plait {

const OpSpec kSumSpec = {
    .kind = OpKind::kSum,
    .since_opset = 1,
    .inputs_min = 1,
    .inputs_max = kVariadic,
    .outputs_min = 1,
    .outputs_max = 1,
    .traits = kCommutative,
    .infer = InferBroadcastOf<TypeSet::kFloat>,
    .evaluate =
        [](const OpCall&, EvalInputs inputs, EvalOutputs outputs) {
          return EvaluateFold(inputs, outputs, [](EvalInputs pair, EvalOutputs result) {
            return EvaluateRingBinary(pair, result, [](auto a, auto b) { return a + b; });
          });
        },
    .lower = LowerVariadic,
};

}  // namespace plait
