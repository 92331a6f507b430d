#pragma once

#include <vector>

#include "absl/time/time.h"
#include "absl/types/span.h"
#include "optimizer/onnx/bind.h"
#include "plait/internal/search_child.pb.h"
#include "server/search_child/plan_targets.h"

namespace plait {

// For each plan the seconds that searching for it is likely to take at most: 4 for each GFLOP of a
// run of the model at its shapes, and at least kPlanSecondsMin; 0 for one that is predicted.
// A candidate that runs for seconds takes minutes to verify beside the original: what is returned
// after a minute would be the original. Says nothing about the device, so that it is the same
// everywhere. `first` is the model at the first target's shapes. Pure.
std::vector<double> PlanSeconds(const Model& model, const Graph& first,
                                absl::Span<const PlanTarget> targets);

inline constexpr double kPlanSecondsMin = 15;

// The seconds that a job may take: those of its options, or, where nobody named them, those of its
// plans if that is more, up to `Start.budget_seconds_max`. The first plan alone may use what the
// options say; those behind it add to that. Pure.
double JobBudgetSeconds(const internal::Start& start, absl::Span<const double> plan_seconds);

// The part of what is left of a budget that belongs to plan `number`, with none of those before it
// to be made: in proportion to its seconds. Pure.
double BudgetShare(absl::Span<const double> plan_seconds, size_t number);

// How long one task, and all of a job of so many seconds, may wait for a device whose threads are
// far from each other: hosts bring them back within some seconds, or never. Pure.
absl::Duration TaskWaitMax(const internal::Start& start);
absl::Duration JobWaitMax(double budget_seconds);

}  // namespace plait
