#include "optimizer/ops/shared/elementwise.h"

namespace plait {

// y = a * b with numpy's broadcasting. Integers wrap; 8 and 16-bit ones came with opset 14.
const OpSpec kMulSpec = {
    .kind = OpKind::kMul,
    .inputs = {2, 2},
    .traits = kElementwiseBinary | kCommutative,
    .infer = InferBroadcastOf<TypeSet::kNumber>,
    .evaluate =
        [](const OpCall&, EvalInputs inputs, EvalOutputs outputs) {
          return EvaluateRingBinary(inputs, outputs, [](auto a, auto b) { return a * b; });
        },
};

}  // namespace plait
