#include "optimizer/ops/shared/elementwise.h"

namespace plait {
namespace {

double Inverse(double x) { return 1.0 / x; }
FieldElement Inverse(FieldElement x) { return x.Inverse(); }
// Never called: InferUnary admits floats only.
uint64_t Inverse(uint64_t x) { return x; }

absl::Status Evaluate(const OpCall&, EvalInputs inputs, EvalOutputs outputs) {
  return EvaluateRingUnary(inputs, outputs, [](auto x) { return Inverse(x); });
}

}  // namespace

const OpSpec kReciprocalSpec = {
    .kind = OpKind::kReciprocal,
    .since_opset = 1,
    .inputs_min = 1,
    .inputs_max = 1,
    .outputs_min = 1,
    .outputs_max = 1,
    .traits = kElementwiseUnary,
    .infer = InferUnaryOf<TypeSet::kFloat>,
    .evaluate = Evaluate,
};

}  // namespace plait
