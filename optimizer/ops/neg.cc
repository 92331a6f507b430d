#include <type_traits>

#include "optimizer/ops/shared/elementwise.h"

namespace plait {
namespace {

// -x: 0 - x in whichever ring x is of, but -0 of a float's +0.
template <typename T>
T Negative(T x) {
  if constexpr (std::is_floating_point_v<T>) {
    return -x;
  } else {
    return T{} - x;
  }
}

}  // namespace

// y = -x.
const OpSpec kNegSpec = {
    .kind = OpKind::kNeg,
    .traits = kElementwiseUnary,
    .infer = InferUnaryOf<TypeSet::kNumber>,
    .evaluate =
        [](const OpCall&, EvalInputs inputs, EvalOutputs outputs) {
          return EvaluateRingUnary(inputs, outputs, [](auto x) { return Negative(x); });
        },
};

}  // namespace plait
