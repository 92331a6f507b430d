#include "optimizer/search/plan_times.h"

#include "absl/strings/str_format.h"

namespace plait {

std::string PlanTimesLine(const PlanTimes& times) {
  return absl::StrFormat("measured: candidate %d, predicted %.6g us, took %.6g us, speedup %.6g\n",
                         times.candidate, times.predicted_us, times.latency_us, times.speedup);
}

}  // namespace plait
