#include "optimizer/ops/shared/elementwise.h"

namespace plait {

const OpSpec kSubSpec = {
    .kind = OpKind::kSub,
    .since_opset = 1,
    .inputs_min = 2,
    .inputs_max = 2,
    .outputs_min = 1,
    .outputs_max = 1,
    .traits = kElementwiseBinary,
    .infer = InferBroadcastOf<TypeSet::kNumber>,
    .evaluate =
        [](const OpCall&, EvalInputs inputs, EvalOutputs outputs) {
          return EvaluateRingBinary(inputs, outputs, [](auto a, auto b) { return a - b; });
        },
};

}  // namespace plait
