#include "optimizer/ops/shared/extremes.h"
#include "optimizer/ops/shared/versions.h"

namespace plait {

// The largest of all inputs; a NaN in any of them gives NaN. Inputs of different shapes since opset
// 8, integers since 12.
const OpSpec kMaxSpec = {
    .kind = OpKind::kMax,
    .inputs = {1, kVariadic},
    .traits = kCommutative,
    .infer = InferBroadcastOf<TypeSet::kNumber>,
    .evaluate = EvaluateExtreme<std::greater<>>,
    .lower = LowerVariadic,
};

}  // namespace plait
