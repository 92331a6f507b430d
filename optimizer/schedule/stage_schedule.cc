#include "optimizer/schedule/stage_schedule.h"

#include <algorithm>
#include <utility>

#include "optimizer/schedule/blocks.h"
#include "optimizer/schedule/schedule_memo.h"

// A fork-join of six launches, 0 -> 1 -> 3 -> 5 and 0 -> 2 -> 4 -> 5: the bottlenecks 0 and 5 run
// by themselves, and what lies between them is one stage of two groups, 1 3 and 2 4. Blocks of
// launches that cost and depend alike, as the cells of NasNet, are solved once.

namespace plait {
namespace {

class StageScheduler {
 public:
  StageScheduler(const ScheduleProblem& problem, const StageLimits& limits, ScheduleMemo& memo)
      : problem_(problem), limits_(limits), memo_(memo) {
    limits_.groups_max = std::clamp(problem.device.streams_max, 1, limits_.groups_max);
  }

  Schedule Run(int block_launches_max) {
    int next = 0;
    for (const Block& block : FindBlocks(problem_, block_launches_max)) {
      for (; next < block.first; ++next) Emit({{next}}, 0);
      EmitBlock(block);
      next = block.end;
    }
    for (; next < static_cast<int>(problem_.launches.size()); ++next) Emit({{next}}, 0);
    return std::move(schedule_);
  }

 private:
  // A block with more endings than can be looked at is scheduled as two halves.
  void EmitBlock(const Block& block) {
    const std::optional<std::vector<Stage>>& stages =
        memo_.StagesOf(BodyOf(problem_, block), limits_);
    if (stages) {
      for (const Stage& stage : *stages) Emit(stage, block.first);
      return;
    }
    const int middle = block.first + (block.end - block.first) / 2;
    EmitBlock({block.first, middle});
    EmitBlock({middle, block.end});
  }

  // Launch i of the stage is launch first + i of the problem.
  void Emit(const Stage& stage, int first) {
    for (size_t group = 0; group < stage.size(); ++group) {
      for (const int launch : stage[group]) {
        const bool whole = stage.size() == 1 && problem_.launches[first + launch].whole_is_faster();
        schedule_.push_back({first + launch, static_cast<int>(group), whole});
      }
    }
  }

  const ScheduleProblem& problem_;
  StageLimits limits_;
  ScheduleMemo& memo_;
  Schedule schedule_;
};

}  // namespace

Schedule ScheduleInStages(const ScheduleProblem& problem, int block_launches_max,
                          const StageLimits& limits, ScheduleMemo& memo) {
  return StageScheduler(problem, limits, memo).Run(block_launches_max);
}

}  // namespace plait
