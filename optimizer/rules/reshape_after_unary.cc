#include "optimizer/rules/patterns/push_through_unary.h"
#include "optimizer/rules/rule.h"

namespace plait {

extern const Rule kReshapeAfterUnary = {
    .name = "reshape_after_unary",
    .law = "f(Reshape(x)) = Reshape(f(x)), f elementwise",
    .root = OpKind::kReshape,
    .match = PushThroughUnary,
};

}  // namespace plait
