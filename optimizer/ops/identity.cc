#include "optimizer/ops/shared/elementwise.h"
#include "optimizer/ops/shared/movement.h"

namespace plait {

// y = x: a view of the whole. What an expansion writes where nothing is computed.
const OpSpec kIdentitySpec = {
    .kind = OpKind::kIdentity,
    .traits = kView,
    .infer = InferUnaryOf<TypeSet::kAny>,
    .work = NoWork,
    .evaluate = EvaluateView,
};

}  // namespace plait
