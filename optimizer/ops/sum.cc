#include "optimizer/ops/shared/elementwise.h"
#include "optimizer/ops/shared/versions.h"

namespace plait {

// y = the inputs added from left to right, with broadcasting since opset 8.
const OpSpec kSumSpec = {
    .kind = OpKind::kSum,
    .inputs = {1, kVariadic},
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
