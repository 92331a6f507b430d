#include "optimizer/ops/shared/elementwise.h"
#include "optimizer/ops/shared/movement.h"

namespace plait {

const OpSpec kIdentitySpec = {
    .kind = OpKind::kIdentity,
    .since_opset = 1,
    .inputs_min = 1,
    .inputs_max = 1,
    .outputs_min = 1,
    .outputs_max = 1,
    .traits = kView,
    .infer = InferUnaryOf<TypeSet::kAny>,
    .work = NoWork,
    .evaluate = EvaluateView,
};

}  // namespace plait
