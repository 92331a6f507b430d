#include "optimizer/cost/equivalence.h"

namespace plait {
namespace {

// 1e-2: a hundred times what fp32 sums of other orders usually differ by.
constexpr double kRoundingErrorMax = 1e-2;

// Written so that NaN is a difference.
bool AreWithin(const Equivalence& errors, double rel_error_max) {
  return errors.max_rel_error <= rel_error_max && errors.max_channel_error <= rel_error_max;
}

}  // namespace

absl::string_view VerdictName(Verdict verdict) {
  switch (verdict) {
    case Verdict::kEquivalent:
      return "equivalent";
    case Verdict::kDifferent:
      return "different";
    case Verdict::kInconclusive:
      break;
  }
  return "inconclusive";
}

bool MayBeRounding(const Equivalence& errors) { return AreWithin(errors, kRoundingErrorMax); }

Verdict JudgeErrors(const Equivalence& errors, double rel_error_max) {
  const bool is_rounding =
      MayBeRounding(errors) && errors.exact_ratio > 0 && errors.exact_ratio <= kExactRatioMax;
  if (!AreWithin(errors, rel_error_max) && !is_rounding) return Verdict::kDifferent;
  if (errors.inputs_tried == 0 || errors.dead_outputs) return Verdict::kInconclusive;
  return Verdict::kEquivalent;
}

}  // namespace plait
