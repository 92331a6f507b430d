#include "optimizer/ops/shared/elementwise.h"

namespace plait {

const OpSpec kXorSpec = {
    .kind = OpKind::kXor,
    .since_opset = 1,
    .inputs_min = 2,
    .inputs_max = 2,
    .outputs_min = 1,
    .outputs_max = 1,
    .traits = kElementwiseBinary | kCommutative,
    .infer = InferBroadcastOf<TypeSet::kBool>,
    .evaluate =
        [](const OpCall&, EvalInputs inputs, EvalOutputs outputs) {
          return EvaluateNumberBinary(inputs, outputs,
                                      [](auto a, auto b) { return (a != 0) != (b != 0); });
        },
};

}  // namespace plait
