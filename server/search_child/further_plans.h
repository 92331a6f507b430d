#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/clock.h"
#include "optimizer/search/optimize.h"
#include "plait/internal/search_child.pb.h"
#include "server/search_child/connection.h"
#include "server/search_child/plan_targets.h"

namespace plait {

// A plan of the file. Of a predicted one `found` has graph, plan and predicted time only.
struct SearchedPlan {
  PlanTarget target;
  SearchResult found;
};

// A job whose first plan is found. References must outlive the call.
struct FurtherPlansRequest {
  const internal::Start& start;
  const Model& model;
  const DeviceDescription& device;        // with all of its threads
  absl::Span<const PlanTarget> targets;   // the first one is that of `first`
  absl::Span<const double> plan_seconds;  // of each, see job_budget.h
  const SearchOptions& options;
  LoadEffect load_effect;
  const SearchResult& first;
  const MeasurementLog& first_log;
  absl::Duration end;  // of the budget, on the monotonic clock
  ProgressSink& progress;
  std::function<void(int)> begin_plan;  // is told its number before each search
};

// What came out, beside the plans. Times and counts are sums.
struct FurtherPlans {
  std::vector<SearchedPlan> plans;
  std::vector<std::string> logs;      // of each that was measured, in order
  std::vector<std::string> warnings;  // of plans that were to be measured
  absl::Duration profiling_time;
  absl::Duration verification_time;
  int64_t profiles_measured = 0;
  int64_t profiles_cached = 0;
  int64_t profiles_unsteady = 0;
};

// Makes a job's plans behind the first: searches for one after the other, which share what is left
// of the budget and the profiles that earlier ones have measured. Those for more threads than the
// device has are made by predicted times, for the graph that was found for their shapes. For what
// there is no time to measure, and in a replay for what its log lacks, the plan that was found
// faster at the nearest other shapes is bound to these, with a warning; where there is none, a plan
// is made by predicted times, or is the original's if that alone was measured.
// Blocks until the end. Errors: as Optimize; of binding; INVALID_REQUEST for a log that cannot be
// read.
absl::StatusOr<FurtherPlans> SearchFurtherPlans(const FurtherPlansRequest& request,
                                                ChildConnection& connection, Clock& clock);

}  // namespace plait
