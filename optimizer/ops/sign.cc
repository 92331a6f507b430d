#include "optimizer/ops/shared/elementwise.h"

namespace plait {
namespace {

// 1 for every unsigned number but 0; a NaN has none and stays.
template <typename Number>
Number SignOf(Number x) {
  if (x != x) return x;
  return static_cast<Number>((x > Number(0) ? 1 : 0) - (x < Number(0) ? 1 : 0));
}

}  // namespace

// y = -1, 0 or 1, as x is negative, zero or positive.
const OpSpec kSignSpec = {
    .kind = OpKind::kSign,
    .since_opset = 9,
    .traits = kElementwiseUnary,
    .infer = InferUnaryOf<TypeSet::kNumber>,
    .evaluate =
        [](const OpCall&, EvalInputs inputs, EvalOutputs outputs) {
          return EvaluateNumberUnary(inputs, outputs, [](auto x) { return SignOf(x); });
        },
};

}  // namespace plait
