#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "optimizer/search/budget.h"
#include "optimizer/search/ranked_plan.h"
#include "optimizer/search/search_device.h"

namespace plait {

// What a rehearsal is done with. What is referred to must outlive the call.
struct RehearsalContext {
  const SearchDevice& device;
  Verifier& verifier;
  Budget& budget;
  MeasurementLog& log;          // gets every answer, of the budget too, for a replay
  double seconds_reserved = 0;  // that must be left afterwards
};

// Chooses the kernels of the best plan by what they take in their places. A kernel that is timed
// alone finds its inputs where the timing left them, and a second thread that waits for it; in a
// plan it finds them where the step before left them. So of kernels that may take a step's place
// with nothing else changed (the same nodes, formats and width) the best few by profile run there,
// in plans that differ in these kernels only, beside each other; where one takes clearly less time
// than the plan's own, a further plan has it.
//
// That plan becomes the first behind the baseline in `plans`; the others stay behind it, the last
// goes where there would be more than `candidates_max` of them. Nothing is changed where no kernel
// is better, where there is no time and on a device that does not time steps. Adds to `trace` what
// was exchanged.
//
// Returns SearchDevice::us_per_byte as the plan's own kernels show it: of what steps take beyond
// their profiles, by the bytes that they move, the median byte's. 0 where nothing was timed, or few
// steps move many bytes.
// REQUIRES: plans is not empty; the first is the baseline.
// Errors: those of Verifier::TimeSteps but DeadlineExceeded; Internal for an answer about others.
absl::StatusOr<double> RehearseBest(const RehearsalContext& context, int candidates_max,
                                    std::vector<RankedPlan>& plans, std::string& trace);

}  // namespace plait
