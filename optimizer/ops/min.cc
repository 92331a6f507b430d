#include "optimizer/ops/shared/extremes.h"
#include "optimizer/ops/shared/versions.h"

namespace plait {

// The smallest of all inputs; a NaN in any of them gives NaN. Inputs of different shapes since
// opset 8, integers since 12.
const OpSpec kMinSpec = {
    .kind = OpKind::kMin,
    .inputs = {1, kVariadic},
    .traits = kCommutative,
    .infer = InferBroadcastOf<TypeSet::kNumber>,
    .evaluate = EvaluateExtreme<std::less<>>,
    .lower = LowerVariadic,
};

}  // namespace plait
