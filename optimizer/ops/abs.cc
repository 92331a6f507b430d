#include <cmath>

#include "optimizer/ops/shared/elementwise.h"

namespace plait {
namespace {

double AbsoluteValue(double x) { return std::abs(x); }
uint64_t AbsoluteValue(uint64_t x) { return x; }
// In unsigned arithmetic, because the smallest integer has no positive counterpart; it stays.
int64_t AbsoluteValue(int64_t x) {
  return x < 0 ? static_cast<int64_t>(uint64_t{0} - static_cast<uint64_t>(x)) : x;
}

}  // namespace

// y = |x|. Of the smallest integer it is that integer again, as two's complement has it.
const OpSpec kAbsSpec = {
    .kind = OpKind::kAbs,
    .traits = kElementwiseUnary,
    .infer = InferUnaryOf<TypeSet::kNumber>,
    .evaluate =
        [](const OpCall&, EvalInputs inputs, EvalOutputs outputs) {
          return EvaluateNumberUnary(inputs, outputs, [](auto x) { return AbsoluteValue(x); });
        },
};

}  // namespace plait
