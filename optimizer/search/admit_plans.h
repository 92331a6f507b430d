#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "optimizer/search/budget.h"
#include "optimizer/search/ranked_plan.h"
#include "optimizer/search/refusal.h"
#include "optimizer/search/search_device.h"

namespace plait {

// What plans are admitted by. What is referred to must outlive the call.
struct AdmissionContext {
  const KernelCatalog& catalog;
  Verifier& verifier;
  Budget& budget;
  MeasurementLog& log;          // gets every answer, of the budget too, for a replay
  int given_inputs = 0;         // that the verifier runs plans on, beside one of its own
  double seconds_reserved = 0;  // that must be left afterwards
  int candidates_max = 0;       // see KeepBest
  // The graph of a plan planned anew, by the admissions as they are at that time: plans that use no
  // kernel that is refused, with their ranks.
  std::function<absl::StatusOr<std::vector<RankedPlan>>(const RankedPlan&)> plan_anew;
  std::vector<Refusal>* refused =
      nullptr;  // gets the kernels that are refused; nullptr: nobody asks
};

// Brings it about that every plan uses kernels that need admission only where they are admitted.
// What the plans use and nothing is known of is measured, one plan after the other, each layer once
// and at all places where that plan has it; plans with a kernel that is refused are planned anew,
// until none is left. Where there is no time to measure, what is unknown is refused from then on.
// Plans are put into their order again, and the same plan comes once. Adds to `trace` what was
// refused, and by which error.
// REQUIRES: plans is not empty; the first is the baseline, which needs no admission.
// Errors: those of Verifier::MeasureErrors but DeadlineExceeded, and of plan_anew; Internal for an
// answer about other steps, and for a plan that was made with a kernel that is refused.
absl::Status AdmitPlans(const AdmissionContext& context, Admissions& admissions,
                        std::vector<RankedPlan>& plans, std::string& trace);

// Seconds that measuring the errors of steps is likely to take: of loading and running the plan,
// and of each step alone. `given_inputs`: see AdmissionContext.
double SecondsToMeasureErrors(const PlanCandidate& candidate, absl::Span<const int> steps,
                              int given_inputs);

// The same for all steps of the baseline's plan for whose nodes the catalog has kernels that need
// admission; 0 when it has none. A guess of what the plans of a search will take.
double SecondsToAdmit(const PlanCandidate& baseline, const KernelCatalog& catalog,
                      int given_inputs);

}  // namespace plait
