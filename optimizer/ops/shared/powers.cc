#include "optimizer/ops/shared/powers.h"

#include "absl/strings/str_cat.h"

namespace plait {

absl::StatusOr<int64_t> NormPower(const Attributes& attributes) {
  const int64_t power = attributes.Int("p", 2);
  if (power >= 1) return power;
  return absl::InvalidArgumentError(absl::StrCat("p must be positive, is ", power));
}

TensorId AddPowers(TensorId x, int64_t power, Expansion* expansion) {
  if (power == 2) return expansion->Add(OpKind::kMul, {x, x});
  const TensorId magnitude = expansion->Add(OpKind::kAbs, {x});
  if (power == 1) return magnitude;
  const TensorId exponent = expansion->Scalar(expansion->type(x).dtype, static_cast<double>(power));
  return expansion->Add(OpKind::kPow, {magnitude, exponent});
}

TensorId AddRoot(TensorId x, int64_t power, Expansion* expansion) {
  if (power == 1) return x;
  if (power == 2) return expansion->Add(OpKind::kSqrt, {x});
  const TensorId exponent =
      expansion->Scalar(expansion->type(x).dtype, 1 / static_cast<double>(power));
  return expansion->Add(OpKind::kPow, {x, exponent});
}

}  // namespace plait
