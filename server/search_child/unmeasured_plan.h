#pragma once

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "optimizer/search/optimize.h"
#include "plait/internal/search_child.pb.h"
#include "server/search_child/plan_targets.h"

namespace plait {

// A plan that a job has measured, which others may be made from.
struct PlanSource {
  const PlanTarget& target;
  const SearchResult& found;
};

// A plan that is not measured is to be made for `target`. References must outlive the call.
struct UnmeasuredRequest {
  const internal::Start& start;
  const Model& model;
  const DeviceDescription& device;  // with all of its threads
  const PlanTarget& target;
  absl::Span<const PlanSource> measured;  // in the order of the plans
};

// `found` has graph, plan, what led to them and predicted time only.
struct NeighbourPlan {
  SearchResult found;
  size_t source = 0;  // whose plan it is, in `measured`
};

// The plan that beat the original at the nearest other shapes with as many threads, bound to the
// target's as the runtime would bind it (optimizer/plan/rebind_plan.h). Its time is that which was
// measured, grown as the predictions grow. Errors: NotFound where there is none; those of binding,
// RebindTarget::Rebind and PredictedPlan.
absl::StatusOr<NeighbourPlan> PlanOfNeighbour(const UnmeasuredRequest& request);

// A plan made by predicted times: of the graph that was found for the same shapes, and verified;
// of the original where there is none. Errors: those of binding and of PredictedPlan.
absl::StatusOr<SearchResult> PlanByPrediction(const UnmeasuredRequest& request);

}  // namespace plait
