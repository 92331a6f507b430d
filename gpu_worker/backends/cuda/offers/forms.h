#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/types/span.h"
#include "gpu_worker/backends/cuda/problem/problem.h"

namespace plait::cuda {

// The variants of kernels of the cuda backend: in which numbers it computes, and which
// implementation does, as in "strict/generated/rows/warp/v4". "auto" leaves that to the worker,
// which times them all; so does "narrow", for a kernel that others run beside: of those that take
// little longer than the fastest it is the one that leaves them the most room. Of a kernel that
// runs in parts (run/split_steps.h) those of all parts are named, in order:
// "strict/parts:cudnn/eng28/k2=1|generated/elementwise/v4". A reorder has none until its
// implementation is chosen, and computes nothing.
constexpr absl::string_view kStrictForm = "strict/auto";
constexpr absl::string_view kNarrowForm = "strict/narrow";
// Operands of products may be rounded to 10 bits of mantissa.
constexpr absl::string_view kTf32Form = "tf32/auto";
constexpr absl::string_view kNarrowTf32Form = "tf32/narrow";
// All that is read and written lies in 16 bits; sums are in fp32.
constexpr absl::string_view kFp16Form = "fp16/auto";
constexpr absl::string_view kBf16Form = "bf16/auto";
constexpr absl::string_view kNarrowFp16Form = "fp16/narrow";
constexpr absl::string_view kNarrowBf16Form = "bf16/narrow";

// nullopt: there is no such form.
inline std::optional<Precision> PrecisionOfForm(absl::string_view form) {
  if (absl::ConsumePrefix(&form, "strict/") && !form.empty()) return Precision::kStrict;
  if (absl::ConsumePrefix(&form, "tf32/") && !form.empty()) return Precision::kTf32;
  if (absl::ConsumePrefix(&form, "fp16/") && !form.empty()) return Precision::kFp16;
  if (absl::ConsumePrefix(&form, "bf16/") && !form.empty()) return Precision::kBf16;
  return std::nullopt;
}

// The form of a precision that leaves the implementation open.
constexpr absl::string_view FormOf(Precision precision) {
  switch (precision) {
    case Precision::kStrict:
      return kStrictForm;
    case Precision::kTf32:
      return kTf32Form;
    case Precision::kFp16:
      return kFp16Form;
    case Precision::kBf16:
      return kBf16Form;
  }
  return kStrictForm;
}

// The one that leaves it open and leaves room for others.
constexpr absl::string_view NarrowFormOf(Precision precision) {
  switch (precision) {
    case Precision::kStrict:
      return kNarrowForm;
    case Precision::kTf32:
      return kNarrowTf32Form;
    case Precision::kFp16:
      return kNarrowFp16Form;
    case Precision::kBf16:
      return kNarrowBf16Form;
  }
  return kNarrowForm;
}

// Whether floats lie in 16 bits.
constexpr bool IsOf16Bits(Precision precision) {
  return precision == Precision::kFp16 || precision == Precision::kBf16;
}

inline bool IsNarrowForm(absl::string_view form) {
  const std::optional<Precision> precision = PrecisionOfForm(form);
  return precision.has_value() && form == NarrowFormOf(*precision);
}

// The candidate that a form names (Candidate::name); empty for one that leaves it open.
inline absl::string_view ImplementationOfForm(absl::string_view form) {
  const size_t slash = form.find('/');
  const absl::string_view name =
      slash == absl::string_view::npos ? absl::string_view() : form.substr(slash + 1);
  return name == "auto" || name == "narrow" ? absl::string_view() : name;
}

// Those of the parts of a form that names them; none of any other.
std::vector<absl::string_view> PartsOfForm(absl::string_view form);

// The form with these implementations in it: of the whole kernel, or of its parts. Without any it
// is empty.
std::string FormWith(absl::string_view form, absl::Span<const std::string> implementations,
                     bool in_parts);

}  // namespace plait::cuda
