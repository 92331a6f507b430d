#include "optimizer/ops/shared/comparison.h"

namespace plait {

// y = a >= b; false where either is NaN.
const OpSpec kGreaterOrEqualSpec = {
    .kind = OpKind::kGreaterOrEqual,
    .since_opset = 12,
    .inputs = {2, 2},
    .traits = kElementwiseBinary,
    .infer = InferComparisonOf<TypeSet::kNumber>,
    .evaluate = EvaluateComparison<std::greater_equal<>>,
    .expand = ExpandOrEqualOf<OpKind::kGreater>,
};

}  // namespace plait
