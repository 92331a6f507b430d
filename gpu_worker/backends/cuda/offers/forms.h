#pragma once

#include <optional>

#include "absl/strings/string_view.h"
#include "gpu_worker/backends/cuda/problem/problem.h"

namespace plait::cuda {

// The variants of kernels of the cuda backend: in which numbers it computes, and which
// implementation does. "auto" leaves that to the worker, which times them all.
constexpr absl::string_view kStrictForm = "strict/auto";
// Operands of products may be rounded to 10 bits of mantissa.
constexpr absl::string_view kTf32Form = "tf32/auto";

// nullopt: there is no such form.
inline std::optional<Precision> PrecisionOfForm(absl::string_view form) {
  if (form == kStrictForm) return Precision::kStrict;
  if (form == kTf32Form) return Precision::kTf32;
  return std::nullopt;
}

}  // namespace plait::cuda
