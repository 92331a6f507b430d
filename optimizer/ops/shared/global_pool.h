#pragma once

#include <vector>

#include "optimizer/ops/shared/op_spec.h"

// What GlobalAveragePool and GlobalMaxPool share: [batch, channels, spatial...] becomes
// [batch, channels, 1...].
namespace plait {

// OpSpec::infer of pools over all spatial axes, which become 1.
// Errors: InvalidArgument for a rank below 3, no spatial element, or a type that is no float.
Types InferGlobalPool(const OpCall& call);

// One operation per input element: an addition or a comparison.
Work WorkOfGlobalPool(const OpCall& call, absl::Span<const TensorType> output_types);

}  // namespace plait
