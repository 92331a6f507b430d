#include "optimizer/ops/shared/comparison.h"

namespace plait {

// y = a <= b; false where either is NaN.
const OpSpec kLessOrEqualSpec = {
    .kind = OpKind::kLessOrEqual,
    .since_opset = 12,
    .inputs = {2, 2},
    .traits = kElementwiseBinary,
    .infer = InferComparisonOf<TypeSet::kNumber>,
    .evaluate = EvaluateComparison<std::less_equal<>>,
    .expand = ExpandOrEqualOf<OpKind::kLess>,
};

}  // namespace plait
