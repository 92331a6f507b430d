#include "optimizer/schedule/stages.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <utility>

#include "absl/container/flat_hash_map.h"

// A fork-join of launches 1 -> 3 and 2 -> 4, whole 9 us and narrow 10: the endings of {1, 2, 3, 4}
// are {3}, {4}, {3, 4}, {1, 3}, {2, 4}, {1, 3, 4}, {2, 3, 4} and all four. All four are two groups
// of two launches, 20 us side by side; {3} and then the rest costs 9 + 9 + 10. So there is one
// stage.
//
// A set is a mask of launches, lowest bit first. The state is what has not been given a stage yet,
// which is closed under predecessors.

namespace plait {
namespace {

using Launches = uint64_t;

constexpr Launches OnlyOf(int launch) { return Launches{1} << launch; }

std::vector<int> ListOf(Launches launches) {
  std::vector<int> list;
  for (; launches != 0; launches &= launches - 1) list.push_back(std::countr_zero(launches));
  return list;
}

// The dynamic program over one problem.
class StageSearch {
 public:
  StageSearch(const ScheduleProblem& problem, const StageLimits& limits)
      : problem_(problem),
        limits_(limits),
        predecessors_(problem.launches.size(), 0),
        readers_(problem.launches.size(), 0) {
    for (size_t launch = 0; launch < problem.launches.size(); ++launch) {
      for (const int predecessor : problem.launches[launch].predecessors) {
        predecessors_[launch] |= OnlyOf(predecessor);
        readers_[predecessor] |= OnlyOf(static_cast<int>(launch));
      }
    }
  }

  std::optional<std::vector<Stage>> Run() {
    const size_t count = problem_.launches.size();
    const Launches all = count == 64 ? ~Launches{0} : OnlyOf(static_cast<int>(count)) - 1;
    FastestOf(all);
    if (transitions_ > limits_.transitions_max) return std::nullopt;
    std::vector<Stage> stages;
    for (Launches left = all; left != 0; left &= ~best_.at(left).ending) {
      stages.push_back(GroupsOf(best_.at(left).ending));
    }
    std::reverse(stages.begin(), stages.end());
    return stages;
  }

 private:
  // Of equal times that of the fewest stages is the best: what waits between them is not in a time.
  struct Best {
    double us = 0;
    int stages = 0;
    Launches ending = 0;
  };

  // The connected part of `ending` that this launch is in.
  Launches GroupAround(int launch, Launches ending) const {
    Launches group = OnlyOf(launch);
    for (Launches open = group; open != 0;) {
      const int member = std::countr_zero(open);
      open &= open - 1;
      const Launches next = (predecessors_[member] | readers_[member]) & ending & ~group;
      group |= next;
      open |= next;
    }
    return group;
  }

  Launches PredecessorsOf(Launches launches) const {
    Launches predecessors = 0;
    for (; launches != 0; launches &= launches - 1) {
      predecessors |= predecessors_[std::countr_zero(launches)];
    }
    return predecessors;
  }

  Stage GroupsOf(Launches ending) const {
    Stage stage;
    while (ending != 0) {
      const Launches group = GroupAround(std::countr_zero(ending), ending);
      stage.push_back(ListOf(group));
      ending &= ~group;
    }
    return stage;
  }

  // What the stages of these launches take.
  Best FastestOf(Launches left) {
    if (left == 0) return {};
    if (const auto known = best_.find(left); known != best_.end()) return known->second;
    Best best{.us = std::numeric_limits<double>::infinity()};
    TryEndings(left, 0, static_cast<int>(problem_.launches.size()) - 1, best);
    best_[left] = best;
    return best;
  }

  // How many groups of `ending` can neither grow nor join others by launches of `open`.
  int ClosedGroups(Launches ending, Launches open) const {
    int closed = 0;
    while (ending != 0) {
      const Launches group = GroupAround(std::countr_zero(ending), ending);
      closed += (PredecessorsOf(group) & open) == 0 ? 1 : 0;
      ending &= ~group;
    }
    return closed;
  }

  // Every ending of `left` that holds `ending` and otherwise launches up to `candidate`. An ending
  // grows from its last launch to its first, so that it is met once, and a group never shrinks.
  void TryEndings(Launches left, Launches ending, int candidate, Best& best) {
    for (; candidate >= 0 && transitions_ <= limits_.transitions_max; --candidate) {
      const bool is_free =
          (left & OnlyOf(candidate)) != 0 && (readers_[candidate] & left & ~ending) == 0;
      if (!is_free) continue;
      const Launches larger = ending | OnlyOf(candidate);
      if (std::popcount(GroupAround(candidate, larger)) > limits_.group_launches_max) continue;
      if (ClosedGroups(larger, left & (OnlyOf(candidate) - 1)) > limits_.groups_max) continue;
      TryStage(left, larger, best);
      TryEndings(left, larger, candidate - 1, best);
    }
  }

  void TryStage(Launches left, Launches ending, Best& best) {
    if (++transitions_ > limits_.transitions_max) return;
    const auto [known, is_new] = stage_us_.try_emplace(ending, 0);
    if (is_new) {
      const Stage stage = GroupsOf(ending);
      known->second = static_cast<int>(stage.size()) > limits_.groups_max
                          ? std::numeric_limits<double>::infinity()
                          : StageUs(problem_, stage);
    }
    const double stage_us = known->second;
    if (stage_us > best.us) return;
    const Best before = FastestOf(left & ~ending);
    const double us = stage_us + before.us;
    const int stages = before.stages + 1;
    if (us < best.us || (us == best.us && stages < best.stages)) best = {us, stages, ending};
  }

  const ScheduleProblem& problem_;
  const StageLimits& limits_;
  std::vector<Launches> predecessors_;
  std::vector<Launches> readers_;
  absl::flat_hash_map<Launches, Best> best_;
  absl::flat_hash_map<Launches, double> stage_us_;
  int transitions_ = 0;
};

}  // namespace

double StageUs(const ScheduleProblem& problem, const Stage& stage) {
  const SimulatorOptions& overheads = problem.device.overheads;
  if (stage.size() == 1) {
    double us = 0;
    for (const int launch : stage[0]) {
      const Launch& each = problem.launches[launch];
      us += overheads.launch_gap_us + std::min(each.whole.latency_us, each.part.latency_us);
    }
    return us;
  }
  std::vector<SimulatedStep> steps;
  for (size_t group = 0; group < stage.size(); ++group) {
    for (const int launch : stage[group]) {
      const LaunchMode& mode = problem.launches[launch].part;
      steps.push_back({.latency_us = mode.latency_us,
                       .stream = static_cast<int>(group),
                       .alone = mode.alone,
                       .compute_share = mode.compute_share,
                       .bandwidth_share = mode.bandwidth_share});
    }
  }
  return Simulate(steps, overheads).makespan_us;
}

std::optional<std::vector<Stage>> FastestStages(const ScheduleProblem& problem,
                                                const StageLimits& limits) {
  return StageSearch(problem, limits).Run();
}

}  // namespace plait
