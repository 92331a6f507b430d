#include "optimizer/ops/shared/elementwise.h"

namespace plait {
namespace {

double Divided(double a, double b) { return a / b; }
FieldElement Divided(FieldElement a, FieldElement b) { return a * b.Inverse(); }
// ONNX leaves division by zero undefined; here it gives 0.
uint64_t Divided(uint64_t a, uint64_t b) { return b == 0 ? 0 : a / b; }
int64_t Divided(int64_t a, int64_t b) {
  if (b == 0) return 0;
  // The smallest integer has no positive counterpart; it stays.
  if (b == -1) return static_cast<int64_t>(uint64_t{0} - static_cast<uint64_t>(a));
  return a / b;
}

absl::Status EvaluateDiv(const OpCall&, EvalInputs inputs, EvalOutputs outputs) {
  const auto quotient = [](auto a, auto b) { return Divided(a, b); };
  if (std::holds_alternative<std::vector<FieldElement>>(inputs[0]->values)) {
    return EvaluateRingBinary(inputs, outputs, quotient);
  }
  return EvaluateNumberBinary(inputs, outputs, quotient);
}

}  // namespace

// y = a / b with numpy's broadcasting. Integers truncate towards zero. In GF(p) a / b is a times
// the inverse of b, so that laws over quotients can be proved.
const OpSpec kDivSpec = {
    .kind = OpKind::kDiv,
    .inputs = {2, 2},
    .traits = kElementwiseBinary,
    .infer = InferBroadcastOf<TypeSet::kNumber>,
    .evaluate = EvaluateDiv,
};

}  // namespace plait
