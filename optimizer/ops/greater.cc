#include "optimizer/ops/shared/comparison.h"

namespace plait {

// y = a > b; false where either is NaN. Integers since opset 9.
const OpSpec kGreaterSpec = {
    .kind = OpKind::kGreater,
    .inputs = {2, 2},
    .traits = kElementwiseBinary,
    .infer = InferComparisonOf<TypeSet::kNumber>,
    .evaluate = EvaluateComparison<std::greater<>>,
    .lower = LowerOrder,
};

}  // namespace plait
