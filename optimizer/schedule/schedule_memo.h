#pragma once

#include <map>
#include <optional>
#include <vector>

#include "optimizer/ir/fingerprint.h"
#include "optimizer/schedule/list_schedule.h"
#include "optimizer/schedule/policy.h"
#include "optimizer/schedule/stages.h"

namespace plait {

// What was found out about launches, kept for the next graphs of the same search, which differ from
// each other in a few blocks, or come again. Answers follow from the problem alone, its device
// included, so a schedule is the same whatever a memo knows. Not thread-safe.
class ScheduleMemo {
 public:
  // policy.assign_with(problem, *this). Lives as long as the memo.
  const Schedule& ScheduleOf(const SchedulePolicy& policy, const ScheduleProblem& problem);

  // FastestStages(block, limits). Lives as long as the memo.
  const std::optional<std::vector<Stage>>& StagesOf(const ScheduleProblem& block,
                                                    const StageLimits& limits);

  // choose(block), where `choose` is always the same function. Lives as long as the memo.
  const std::vector<WidthChoice>& WidthsOf(
      const ScheduleProblem& block, std::vector<WidthChoice> (*choose)(const ScheduleProblem&));

 private:
  std::map<Fingerprint, Schedule> schedules_;
  std::map<Fingerprint, std::optional<std::vector<Stage>>> stages_;
  std::map<Fingerprint, std::vector<WidthChoice>> widths_;
};

}  // namespace plait
