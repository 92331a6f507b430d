#pragma once

#include <vector>

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

// How far one output is from the baseline's; for each number the worst input counts. Infinite as
// the errors of Equivalence.
struct OutputError {
  double max_abs_error = 0;  // both as Equivalence has them
  double max_rel_error = 0;
  double rms_error = 0;          // the root of the mean of (a-b)^2 over the output's elements
  double max_channel_error = 0;  // as Equivalence has it; 0 against exact outputs

  friend bool operator==(const OutputError&, const OutputError&) = default;
};

// A candidate's outputs beside the baseline's, over several seeded inputs. Errors are the largest
// over all outputs and inputs. Infinite for what no tolerance accepts: integers and booleans that
// are not equal, a NaN or an infinity that does not stand on both sides with the same sign, another
// shape.
//
// The largest value of an output hides an error in a part of it that is small, so that each channel
// is looked at too. Channels are the places along axis 1 of an output of rank 3 or more; any other
// output is one channel. Of an output whose largest value is 1, a channel with values up to 0.01
// may be off by 0.11 times the tolerance.
struct Equivalence {
  Verdict verdict = Verdict::kInconclusive;
  double max_abs_error = 0;  // over all elements of all outputs
  double max_rel_error = 0;  // largest |a-b| of an output over the largest |a| of that output
  int inputs_tried = 0;
  // Largest |a-b| of a channel over the largest |a| of that channel and a tenth of its output's.
  double max_channel_error = 0;
  // Some output had one value everywhere, whatever the input, or was NaN everywhere.
  bool dead_outputs = false;
  // How many times as far from exact outputs, which are computed in float64, the candidate is as
  // the baseline: the worst of the largest and of the root-mean-square errors of each output. 0:
  // not measured, as only of what is beyond the tolerance and may be rounding.
  double exact_ratio = 0;
  // Each output by itself, in the graph's order; the first kOutputErrorsMax. For reports only.
  std::vector<OutputError> outputs;

  friend bool operator==(const Equivalence&, const Equivalence&) = default;
};

// How many times as far from exact outputs as the baseline a candidate may be: as much as another
// order of sums loses.
inline constexpr double kExactRatioMax = 2;

// Whether errors beyond a tolerance may be those of rounding, in a model that makes much of it.
// Where they are larger the baseline's own outputs would be worth little. Pure.
bool MayBeRounding(const Equivalence& errors);

// The verdict that the errors deserve: different when one of them is beyond `rel_error_max` or no
// number, unless they may be rounding and the candidate is as near to exact outputs as the
// baseline, but for kExactRatioMax; else equivalent, unless nothing was compared or an output is
// dead. The one place that says what counts as equal. Pure.
Verdict JudgeErrors(const Equivalence& errors, double rel_error_max);

}  // namespace plait
