#pragma once

#include "absl/status/statusor.h"
#include "optimizer/ops/shared/op_spec.h"

namespace plait {

// The order of a convolution's weights: [m, c / group, kernel...] of Conv, [c, m / group,
// kernel...] of ConvTranspose. Group g of the m channels of the result has to do with group g of
// the c channels of the input only.
enum class WeightOrder { kResultFirst, kInputFirst };

// The channels m of the result, of input 0 [n, c, spatial...], weights in input 1 and a bias [m] in
// input 2, which may be omitted.
// Errors: InvalidArgument when they do not fit each other or the attributes group and kernel_shape;
// Unimplemented for more than three spatial axes.
absl::StatusOr<int64_t> ResultChannels(const OpCall& call, WeightOrder order);

}  // namespace plait
