#pragma once

#include <vector>

#include "optimizer/ops/shared/op_spec.h"

namespace plait {

// OpSpec::infer of pools over all spatial axes, which become 1.
// Errors: InvalidArgument for a rank below 3, no spatial element, or a type that is no float.
absl::StatusOr<std::vector<TensorType>> InferGlobalPool(const OpCall& call);

// One operation per input element.
Work WorkOfGlobalPool(const OpCall& call, absl::Span<const TensorType> output_types);

}  // namespace plait
