#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "optimizer/ops/shared/eval_tensor.h"
#include "optimizer/ops/shared/op_spec.h"

// Short names for the signatures of OpSpec's functions.
namespace plait {

using Types = absl::StatusOr<std::vector<TensorType>>;
using EvalInputs = absl::Span<const EvalTensor* const>;
using EvalOutputs = absl::Span<EvalTensor>;

}  // namespace plait
