#include <algorithm>
#include <map>
#include <utility>

#include "optimizer/schedule/blocks.h"
#include "optimizer/schedule/policy.h"
#include "optimizer/schedule/stages.h"

// A fork-join of six launches, 0 -> 1 -> 3 -> 5 and 0 -> 2 -> 4 -> 5: the bottlenecks 0 and 5 run
// by themselves, and what lies between them is one stage of two groups, 1 3 and 2 4. Blocks of
// launches that cost and depend alike, as the cells of NasNet, are solved once.

namespace plait {
namespace {

// 48: more than the widest cell of the networks that IOS was published for has, and few enough for
// a set of launches to be one word.
constexpr int kStagedLaunchesMax = 48;

// Orders problems by what decides their stages, so that equal blocks are one key.
using BlockKey = std::vector<double>;

BlockKey KeyOf(const ScheduleProblem& body) {
  BlockKey key;
  for (const Launch& launch : body.launches) {
    for (const LaunchMode& mode : {launch.whole, launch.part}) {
      key.insert(key.end(), {mode.latency_us, mode.alone ? 1.0 : 0.0, mode.compute_share,
                             mode.bandwidth_share});
    }
    key.insert(key.end(), launch.predecessors.begin(), launch.predecessors.end());
    key.push_back(-1);
  }
  return key;
}

class IosScheduler {
 public:
  explicit IosScheduler(const ScheduleProblem& problem) : problem_(problem) {
    limits_.groups_max = std::clamp(problem.device.streams_max, 1, limits_.groups_max);
  }

  Schedule Run() {
    int next = 0;
    for (const Block& block : FindBlocks(problem_, kStagedLaunchesMax)) {
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
    const ScheduleProblem body = BodyOf(problem_, block);
    const auto [known, is_new] = stages_.try_emplace(KeyOf(body));
    if (is_new) known->second = FastestStages(body, limits_);
    const std::optional<std::vector<Stage>>& stages = known->second;
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
  std::map<BlockKey, std::optional<std::vector<Stage>>> stages_;
  Schedule schedule_;
};

// IOS (MLSys 2021): the stages of least time in sum, block by block, with its pruning of r = 3
// launches a group and s = 8 groups, or as many as there are streams. What a stage takes is
// simulated where IOS measures. Its other strategy, merging the operators of a stage, is a rewrite
// of the graph here, which comes before any schedule. Instead of IOS's barriers between stages a
// plan has the waits that its launches need. A launch beside nothing takes the faster width, one
// beside others the narrow one.
Schedule AssignIos(const ScheduleProblem& problem) { return IosScheduler(problem).Run(); }

}  // namespace

const SchedulePolicy kIosPolicy = {.name = "ios", .assign = AssignIos};

}  // namespace plait
