#include "gpu_worker/executor/compare_outputs.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"

namespace plait {
namespace {

// NaN equals NaN, and an infinity the same infinity.
bool AreBothSpecial(double a, double b) {
  if (std::isnan(a) && std::isnan(b)) return true;
  return std::isinf(a) && a == b;
}

}  // namespace

void OutputComparer::SetDifferent(std::string reason) {
  if (difference_.empty()) difference_ = std::move(reason);
}

void OutputComparer::Add(absl::Span<const Tensor> original, absl::Span<const Tensor> candidate) {
  ++comparison_.equivalence.inputs_tried;
  if (original.size() != candidate.size()) {
    return SetDifferent(
        absl::StrCat("the candidate has ", candidate.size(), " outputs, not ", original.size()));
  }
  alive_.resize(original.size(), false);
  first_values_.resize(original.size(), 0);
  for (size_t i = 0; i < original.size(); ++i) {
    if (original[i].type() != candidate[i].type()) {
      SetDifferent(absl::StrCat("output ", i, " is ", candidate[i].type().ToString(), ", not ",
                                original[i].type().ToString()));
    } else {
      Compare(i, original[i], candidate[i]);
    }
  }
}

// In double, where float32 and the integers below 2^53 are exact.
void OutputComparer::Compare(size_t index, const Tensor& original, const Tensor& candidate) {
  const std::vector<double> a = original.AsDoubles();
  const std::vector<double> b = candidate.AsDoubles();
  // An output of no elements has nothing that could be dead.
  if (a.empty()) {
    alive_[index] = true;
    return;
  }
  if (comparison_.equivalence.inputs_tried == 1) first_values_[index] = a[0];
  double largest = 0;
  double error = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] != first_values_[index]) alive_[index] = true;
    if (AreBothSpecial(a[i], b[i])) continue;
    // Would make every error below NaN or infinite and hide the other elements'.
    if (!std::isfinite(a[i]) || !std::isfinite(b[i])) {
      SetDifferent(absl::StrCat("output ", index, " element ", i, " is ", b[i], ", not ", a[i]));
      continue;
    }
    largest = std::max(largest, std::abs(a[i]));
    error = std::max(error, std::abs(a[i] - b[i]));
  }
  // Relative to the output's largest value and not element by element: what is nearly 0 is the
  // difference of large numbers, whose rounding it carries. See docs/accuracy.md.
  const double rel_error = largest > 0 ? error / largest : error;
  comparison_.equivalence.max_abs_error = std::max(comparison_.equivalence.max_abs_error, error);
  comparison_.equivalence.max_rel_error =
      std::max(comparison_.equivalence.max_rel_error, rel_error);
  const bool is_exact = !IsFloat(original.type().dtype);
  if (is_exact ? error > 0 : rel_error > rel_error_max_) {
    SetDifferent(absl::StrCat("output ", index, " differs by ", error,
                              " where the largest value is ", largest));
  }
}

OutputComparison OutputComparer::Result() const {
  OutputComparison result = comparison_;
  const auto dead = std::find(alive_.begin(), alive_.end(), false);
  if (!difference_.empty()) {
    result.equivalence.verdict = Verdict::kDifferent;
    result.reason = difference_;
  } else if (result.equivalence.inputs_tried == 0) {
    result.reason = "nothing was compared";
  } else if (dead != alive_.end()) {
    result.reason = absl::StrCat("output ", dead - alive_.begin(),
                                 " has one value everywhere, whatever the input");
  } else {
    result.equivalence.verdict = Verdict::kEquivalent;
  }
  return result;
}

}  // namespace plait
