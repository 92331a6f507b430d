#pragma once

#include <optional>
#include <string>

#include "absl/types/span.h"
#include "optimizer/search/kept_plans.h"
#include "plait/v1/report.pb.h"
#include "server/search_child/default_plan.h"
#include "server/search_child/further_plans.h"

namespace plait {

// What a report tells of the plans in a file. References must outlive it.
struct PlanReportFacts {
  const std::string& device;  // its id
  const PlanTarget& first_target;
  const SearchResult& first;
  absl::Span<const SearchedPlan> further;
  const std::optional<DefaultPlanTimes>& default_plan;
};

// Writes Report.kept_plans. Pure and thread-safe.
void SetKeptPlans(absl::Span<const KeptPlan* const> kept, v1::Report* report);

// Writes Report.plans and Report.default_plan. A file without a plan has none. Pure and
// thread-safe.
void SetPlanReports(const PlanReportFacts& facts, v1::Report* report);

}  // namespace plait
