#pragma once

#include <map>
#include <optional>
#include <vector>

#include "optimizer/schedule/list_schedule.h"
#include "optimizer/schedule/policy.h"
#include "optimizer/schedule/stages.h"

namespace plait {

// What was found out about blocks of launches, kept for the next graphs of the same search, which
// differ from each other in a few blocks. Answers follow from the block and the device alone, so a
// schedule is the same whatever a memo knows. Not thread-safe.
class ScheduleMemo {
 public:
  // FastestStages(block, limits). Lives as long as the memo.
  const std::optional<std::vector<Stage>>& StagesOf(const ScheduleProblem& block,
                                                    const StageLimits& limits);

  // choose(block), where `choose` is always the same function. Lives as long as the memo.
  const std::vector<WidthChoice>& WidthsOf(
      const ScheduleProblem& block, std::vector<WidthChoice> (*choose)(const ScheduleProblem&));

 private:
  using Key = std::vector<double>;

  std::map<Key, std::optional<std::vector<Stage>>> stages_;
  std::map<Key, std::vector<WidthChoice>> widths_;
};

}  // namespace plait
