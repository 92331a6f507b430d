#pragma once

#include "optimizer/search/admit_plans.h"

namespace plait {

// Lets plans lose as much accuracy as is allowed, where it saves most: chooses the least price of
// an error (Admissions::SetPrice) at which the best plan's outputs, measured as a whole, are no
// further from the baseline's than `rel_error_max` (Equivalence::max_rel_error and
// max_channel_error). Plans become those of that price, best first, and behind them plans that lose
// nothing, for the case that the others turn out to be too far off.
//
// What an error in a layer does to the outputs is measured for regions of layers, one at a time;
// where there is no time for that, errors count alike. What is predicted from errors and
// sensitivities is the root of the sum of squares, as of independent errors, corrected by what is
// measured. Where there is no time to measure, nothing may be lost.
//
// REQUIRES: AdmitPlans has brought the plans about, at a price of 0. Adds to `trace`.
// Errors: those of AdmitPlans and of Verifier::Verify but DeadlineExceeded.
absl::Status FitPrecision(const AdmissionContext& context, double rel_error_max,
                          Admissions& admissions, std::vector<RankedPlan>& plans,
                          std::string& trace);

// Seconds that FitPrecision is likely to take with plans like the baseline's.
double SecondsToFitPrecision(const PlanCandidate& baseline, int given_inputs);

}  // namespace plait
