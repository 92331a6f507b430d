#include "optimizer/cost/equivalence.h"

namespace plait {

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

Verdict JudgeErrors(const Equivalence& errors, double rel_error_max) {
  // Written so that NaN is a difference.
  const bool is_within =
      errors.max_rel_error <= rel_error_max && errors.max_channel_error <= rel_error_max;
  if (!is_within) return Verdict::kDifferent;
  if (errors.inputs_tried == 0 || errors.dead_outputs) return Verdict::kInconclusive;
  return Verdict::kEquivalent;
}

}  // namespace plait
