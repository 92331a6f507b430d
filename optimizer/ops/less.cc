#include "optimizer/ops/shared/comparison.h"

namespace plait {

// y = a < b; false where either is NaN. Integers since opset 9.
const OpSpec kLessSpec = {
    .kind = OpKind::kLess,
    .inputs = {2, 2},
    .traits = kElementwiseBinary,
    .infer = InferComparisonOf<TypeSet::kNumber>,
    .evaluate = EvaluateComparison<std::less<>>,
    .lower = LowerOrder,
};

}  // namespace plait
