#include "optimizer/rules/patterns/push_through_unary.h"
#include "optimizer/rules/rule.h"

namespace plait {

extern const Rule kTransposeAfterUnary = {
    .name = "transpose_after_unary",
    .law = "f(Transpose(x)) = Transpose(f(x)), f elementwise",
    .root = OpKind::kTranspose,
    .match = PushThroughUnary,
};

}  // namespace plait
