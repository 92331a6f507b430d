#pragma once

#include "absl/strings/string_view.h"

namespace plait {

// What comparing the outputs of two computations showed. Only kEquivalent lets a candidate win: not
// knowing counts as wrong, and so does a comparison that never happened.
// Inconclusive comes first, so that a value that nobody has set is the cautious one.
enum class Verdict {
  kInconclusive,  // not compared, or some output was the same whatever the inputs
  kEquivalent,    // all outputs agree within the tolerance on all inputs tried
  kDifferent,     // some output differs beyond it, or in its type or number
};

absl::string_view VerdictName(Verdict verdict);  // "inconclusive", "equivalent", "different"

// A candidate's outputs beside the baseline's, over several seeded inputs. Errors are the largest
// over all outputs and inputs.
// Floats are compared relative to the largest value of their output; integers and booleans exactly.
struct Equivalence {
  Verdict verdict = Verdict::kInconclusive;
  double max_abs_error = 0;  // over all elements of all outputs
  double max_rel_error = 0;  // largest |a-b| of an output over the largest |a| of that output
  int inputs_tried = 0;

  friend bool operator==(const Equivalence&, const Equivalence&) = default;
};

}  // namespace plait
