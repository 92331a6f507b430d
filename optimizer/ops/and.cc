#include "optimizer/ops/shared/elementwise.h"

namespace plait {

// y = a and b. Bools stay what they are where floats become field elements.
const OpSpec kAndSpec = {
    .kind = OpKind::kAnd,
    .inputs = {2, 2},
    .traits = kElementwiseBinary | kCommutative,
    .infer = InferBroadcastOf<TypeSet::kBool>,
    .evaluate =
        [](const OpCall&, EvalInputs inputs, EvalOutputs outputs) {
          return EvaluateNumberBinary(inputs, outputs,
                                      [](auto a, auto b) { return a != 0 && b != 0; });
        },
};

}  // namespace plait
