#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "gpu_worker/backends/cuda/offers/kernel_problem.h"
#include "optimizer/ir/constant.h"
#include "optimizer/ir/tensor_type.h"
#include "optimizer/kernels/format.h"

// Bytes on the host, before they go to a device and after they have come from it.
namespace plait::cuda {

// The tensor's bytes, which lie in `from`, as they lie in `to`: cast to the nearest, ties to even,
// where elements are stored otherwise.
// REQUIRES: it can lie in both, and `bytes` are its bytes.
std::string Reformat(absl::string_view bytes, const TensorType& type, Format from, Format to);

// A constant operand's bytes as a kernel reads them: computed, and laid out in its format.
// REQUIRES: the operand is a constant.
// Errors: those of EvaluateConstant.
absl::StatusOr<std::string> PackConstant(const OperandValue& operand, const WeightSource& weights);

}  // namespace plait::cuda
