#include <functional>

#include "optimizer/ops/shared/arg_extreme.h"
#include "optimizer/ops/shared/reduction.h"

namespace plait {

// y = the index of the largest element along the axis, the first of equal ones or, with
// select_last_index, the last.
const OpSpec kArgMaxSpec = {
    .kind = OpKind::kArgMax,
    .infer = InferArgExtreme,
    .work = WorkOfReduce,
    .evaluate = EvaluateArgExtreme<std::greater<>>,
    .lower = LowerArgExtreme,
};

}  // namespace plait
