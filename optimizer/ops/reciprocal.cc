#include "optimizer/ops/shared/elementwise.h"

namespace plait {
namespace {

double Inverse(double x) { return 1.0 / x; }
FieldElement Inverse(FieldElement x) { return x.Inverse(); }
// Never called: InferUnary admits floats only.
uint64_t Inverse(uint64_t x) { return x; }

absl::Status EvaluateReciprocal(const OpCall&, EvalInputs inputs, EvalOutputs outputs) {
  return EvaluateRingUnary(inputs, outputs, [](auto x) { return Inverse(x); });
}

}  // namespace

// y = 1 / x: infinite at 0, in GF(p) the inverse.
const OpSpec kReciprocalSpec = {
    .kind = OpKind::kReciprocal,
    .traits = kElementwiseUnary,
    .infer = InferUnaryOf<TypeSet::kFloat>,
    .evaluate = EvaluateReciprocal,
};

}  // namespace plait
