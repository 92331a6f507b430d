#pragma once

#include <optional>

#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "gpu_worker/backends/cuda/problem/problem.h"

namespace plait::cuda {

// The variants of kernels of the cuda backend: in which numbers it computes, and which
// implementation does, as in "strict/generated/rows/warp/v4". "auto" leaves that to the worker,
// which times them all.
constexpr absl::string_view kStrictForm = "strict/auto";
// Operands of products may be rounded to 10 bits of mantissa.
constexpr absl::string_view kTf32Form = "tf32/auto";

// nullopt: there is no such form.
inline std::optional<Precision> PrecisionOfForm(absl::string_view form) {
  if (absl::ConsumePrefix(&form, "strict/") && !form.empty()) return Precision::kStrict;
  if (absl::ConsumePrefix(&form, "tf32/") && !form.empty()) return Precision::kTf32;
  return std::nullopt;
}

// The candidate that a form names (Candidate::name); empty for one that leaves it open.
inline absl::string_view ImplementationOfForm(absl::string_view form) {
  const size_t slash = form.find('/');
  const absl::string_view name =
      slash == absl::string_view::npos ? absl::string_view() : form.substr(slash + 1);
  return name == "auto" ? absl::string_view() : name;
}

}  // namespace plait::cuda
