#include <cmath>

#include "optimizer/ops/shared/elementwise.h"
#include "optimizer/ops/shared/versions.h"

namespace plait {
namespace {

// a - trunc(a / b) * b. ONNX leaves integers modulo zero undefined; here they give 0.
double TruncatedMod(double a, double b) { return std::fmod(a, b); }
uint64_t TruncatedMod(uint64_t a, uint64_t b) { return b == 0 ? 0 : a % b; }
// Nothing is left of a division by -1, which overflows for the smallest integer.
int64_t TruncatedMod(int64_t a, int64_t b) { return b == 0 || b == -1 ? 0 : a % b; }

// a - floor(a / b) * b: the sign is that of b.
template <typename Number>
Number FlooredMod(Number a, Number b) {
  const Number rest = TruncatedMod(a, b);
  if constexpr (std::is_same_v<Number, uint64_t>) return rest;
  if constexpr (std::is_same_v<Number, double>) {
    if (rest == 0) return std::copysign(rest, b);
  }
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

absl::Status EvaluateMod(const OpCall& call, EvalInputs inputs, EvalOutputs outputs) {
  if (call.attributes.Int("fmod", 0) != 0) {
    return EvaluateNumberBinary(inputs, outputs, [](auto a, auto b) { return TruncatedMod(a, b); });
  }
  return EvaluateNumberBinary(inputs, outputs, [](auto a, auto b) { return FlooredMod(a, b); });
}

absl::Status LowerMod(VersionedNode* node) {
  const bool floored = node->attributes.Int("fmod", 0) == 0;
  if (node->opset < 28 && floored && IsFloat(node->input_types[0].dtype)) {
    return NeedsOpset("a floored modulus of floats", 28);
  }
  return absl::OkStatus();
}

}  // namespace

// y = a mod b: with the sign of b, or of a when fmod is set, as C's fmod has it. Floats needed fmod
// up to opset 27.
const OpSpec kModSpec = {
    .kind = OpKind::kMod,
    .since_opset = 10,
    .inputs = {2, 2},
    .traits = kElementwiseBinary,
    .infer = InferBroadcastOf<TypeSet::kNumber>,
    .evaluate = EvaluateMod,
    .lower = LowerMod,
};

}  // namespace plait
