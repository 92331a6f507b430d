#include <functional>

#include "optimizer/ops/shared/elementwise.h"

namespace plait {

// y = the bits that are set in just one of them, of integers.
const OpSpec kBitwiseXorSpec = {
    .kind = OpKind::kBitwiseXor,
    .since_opset = 18,
    .inputs = {2, 2},
    .traits = kElementwiseBinary | kCommutative,
    .infer = InferBroadcastOf<TypeSet::kInteger>,
    .evaluate = [](const OpCall&, EvalInputs inputs,
                   EvalOutputs outputs) { return EvaluateBits<std::bit_xor<>>(inputs, outputs); },
};

}  // namespace plait
