#include "optimizer/ops/shared/extremes.h"

namespace plait {

// y = largest element of x over the axes, which are an input since opset 18.
const OpSpec kReduceMaxSpec = {
    .kind = OpKind::kReduceMax,
    .inputs = {1, 2},
    .infer = InferReduceExtreme,
    .work = WorkOfReduce,
    .evaluate = EvaluateReduceExtreme<std::greater<>>,
    .raise = RaiseReduceOf<18>,
    .lower = LowerReduceOf<18>,
    .expand = ExpandReduce,
};

}  // namespace plait
