#include <functional>

#include "optimizer/ops/shared/elementwise.h"

namespace plait {

// y = the bits that are set in either, of integers.
const OpSpec kBitwiseOrSpec = {
    .kind = OpKind::kBitwiseOr,
    .since_opset = 18,
    .inputs = {2, 2},
    .traits = kElementwiseBinary | kCommutative,
    .infer = InferBroadcastOf<TypeSet::kInteger>,
    .evaluate = [](const OpCall&, EvalInputs inputs,
                   EvalOutputs outputs) { return EvaluateBits<std::bit_or<>>(inputs, outputs); },
};

}  // namespace plait
