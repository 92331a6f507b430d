#include <functional>

#include "optimizer/ops/shared/arg_extreme.h"
#include "optimizer/ops/shared/reduction.h"

namespace plait {

// y = the index of the smallest element along the axis, the first of equal ones or, with
// select_last_index, the last.
const OpSpec kArgMinSpec = {
    .kind = OpKind::kArgMin,
    .infer = InferArgExtreme,
    .work = WorkOfReduce,
    .evaluate = EvaluateArgExtreme<std::less<>>,
    .lower = LowerArgExtreme,
};

}  // namespace plait
