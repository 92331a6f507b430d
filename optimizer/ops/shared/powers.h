#pragma once

#include "absl/status/statusor.h"
#include "optimizer/ops/shared/expansion.h"
#include "optimizer/ops/shared/op_spec.h"

// What pools by a norm share: the p-th root of a sum of p-th powers.
namespace plait {

// Attribute p. Errors: InvalidArgument when it is not positive.
absl::StatusOr<int64_t> NormPower(const Attributes& attributes);

// |x|^p and x^(1/p) as nodes; x must not be negative for the root.
TensorId AddPowers(TensorId x, int64_t power, Expansion* expansion);
TensorId AddRoot(TensorId x, int64_t power, Expansion* expansion);

}  // namespace plait
