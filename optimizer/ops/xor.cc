#include "optimizer/ops/shared/elementwise.h"

namespace plait {

// y = a or b but not both, for bools.
const OpSpec kXorSpec = {
    .kind = OpKind::kXor,
    .inputs = {2, 2},
    .traits = kElementwiseBinary | kCommutative,
    .infer = InferBroadcastOf<TypeSet::kBool>,
    .evaluate =
        [](const OpCall&, EvalInputs inputs, EvalOutputs outputs) {
          return EvaluateNumberBinary(inputs, outputs,
                                      [](auto a, auto b) { return (a != 0) != (b != 0); });
        },
};

}  // namespace plait
