#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "optimizer/cost/layer_error.h"
#include "optimizer/search/speedup.h"
#include "optimizer/search/verifier.h"

namespace plait {

// Why something is not part of the result.
enum class RefusalReason {
  kDifferent,     // a plan: an output is farther from the baseline's than is allowed
  kInconclusive,  // a plan: its outputs agree, which proves too little
  kFailed,        // a plan: it did not run on the device, or gave no times
  kNotChosen,     // a plan: another one was the finalist, and did not win either
  kNotFaster,     // a plan: the finalist, not faster beyond doubt in the rounds that decide
  kInaccurate,    // a kernel: its error at a layer is beyond that of fp32, or was not measured
};

// "different", "inconclusive", "failed", "not_chosen", "not_faster" or "inaccurate".
absl::string_view RefusalReasonName(RefusalReason reason);

// A whole plan that lost, or a kernel that plans had to do without, and what it lost by. Follows
// from what was measured: equal logs give equal refusals.
struct Refusal {
  RefusalReason reason = RefusalReason::kFailed;

  std::string kernel;  // its family; empty: this is about a whole plan
  int layers = 0;      // at which the kernel was refused

  // Of kDifferent and kInaccurate, what was measured and what is allowed. Infinite: no limit
  // accepts it, or nothing could be measured.
  double error = 0;
  double limit = 0;
  // The output that differs most, or the layer with the largest error; empty: none in particular.
  std::string place;

  // Of a plan, by the simulator: microseconds of one run, and the baseline's divided by them.
  double predicted_us = 0;
  double predicted_speedup = 0;
  // Of a plan that ran, in rounds beside the baseline; 0 without any. See Speedup.
  double latency_us = 0;
  double speedup = 0;
  double speedup_certain = 0;

  // Of kFailed what the device said, of kDifferent what exact outputs say, if they were computed.
  std::string message;

  friend bool operator==(const Refusal&, const Refusal&) = default;
};

// A candidate and what was measured of it. Both must outlive the call that gets it.
struct MeasuredPlan {
  const PlanCandidate& candidate;
  const CandidateMeasurement& measurement;
};

// What is told of a candidate that does not win by what was measured of it. It is kNotFaster unless
// it did not run or its outputs are not proven equal. `rel_error_max` is what these were judged by.
// `looks`: see EstimateSpeedup.
Refusal RefusalOf(const MeasuredPlan& baseline, const MeasuredPlan& refused, double rel_error_max,
                  const LoadEffect& effect, int looks = 1);

// The same where nothing is timed: the plan's outputs were compared, and predicted times decide. It
// is kInconclusive unless it did not run or its outputs differ.
Refusal PredictedRefusalOf(const MeasuredPlan& baseline, const MeasuredPlan& refused,
                           double rel_error_max);

// The same of a plan that was not compared, since with other constants of the device it is not
// predicted to be faster: kNotFaster.
Refusal UncertainRefusalOf(const PlanCandidate& baseline, const PlanCandidate& refused,
                           const Speedup& speedup);

// Adds a kernel of this family that was refused at so many layers, the worst of which is `place`
// with that error. A family stands in the list once, with the worst layer of all.
void AddRefusedKernel(absl::string_view family, int layers, absl::string_view place,
                      const LayerError& error, std::vector<Refusal>& refusals);

// "refused: a plan of 12.5 us, different by 0.00032 at boxes\n": a line of a trace.
std::string RefusalLine(const Refusal& refusal);

// Plans first, the best predictions before others, then kernels; the first kRefusalsMax of them.
void SortRefusals(std::vector<Refusal>& refusals);

}  // namespace plait
