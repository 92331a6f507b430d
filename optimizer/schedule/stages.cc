#include "optimizer/schedule/stages.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"

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

// A launch of a stage, and which of its groups it is in.
struct Member {
  int launch;
  int group;
};

// What a stage takes; see StageUs.
double MembersUs(const ScheduleProblem& problem, absl::Span<const Member> stage, int groups) {
  const SimulatorOptions& overheads = problem.device.overheads;
  if (groups == 1) {
    double us = 0;
    for (const Member& member : stage) {
      const Launch& each = problem.launches[member.launch];
      us += overheads.launch_gap_us + std::min(each.whole.latency_us, each.part.latency_us);
    }
    return us;
  }
  std::vector<SimulatedStep> steps;
  steps.reserve(stage.size());
  for (const Member& member : stage) {
    const LaunchMode& mode = problem.launches[member.launch].part;
    steps.push_back({.latency_us = mode.latency_us,
                     .stream = member.group,
                     .alone = mode.alone,
                     .compute_share = mode.compute_share,
                     .bandwidth_share = mode.bandwidth_share});
  }
  return Simulate(steps, overheads).makespan_us;
}

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
    TryEndings(left, 0, {}, static_cast<int>(problem_.launches.size()) - 1, best);
    best_[left] = best;
    return best;
  }

  // The groups of an ending, in no order.
  struct Group {
    Launches members = 0;
    Launches predecessors = 0;
  };
  using Groups = absl::InlinedVector<Group, 16>;

  // Those of an ending that the launch was added to, which is in the last one.
  Groups WithLaunch(const Groups& groups, int launch) const {
    Group joined = {OnlyOf(launch), predecessors_[launch]};
    Groups with;
    for (const Group& group : groups) {
      const bool joins = ((predecessors_[launch] | readers_[launch]) & group.members) != 0;
      if (!joins) {
        with.push_back(group);
        continue;
      }
      joined.members |= group.members;
      joined.predecessors |= group.predecessors;
    }
    with.push_back(joined);
    return with;
  }

  // How many can neither grow nor join others by launches of `open`.
  static int ClosedGroups(const Groups& groups, Launches open) {
    int closed = 0;
    for (const Group& group : groups) closed += (group.predecessors & open) == 0 ? 1 : 0;
    return closed;
  }

  // Every ending of `left` that holds `ending` and otherwise launches up to `candidate`. An ending
  // grows from its last launch to its first, so that it is met once, and a group never shrinks.
  void TryEndings(Launches left, Launches ending, const Groups& groups, int candidate, Best& best) {
    for (; candidate >= 0 && transitions_ <= limits_.transitions_max; --candidate) {
      const bool is_free =
          (left & OnlyOf(candidate)) != 0 && (readers_[candidate] & left & ~ending) == 0;
      if (!is_free) continue;
      const Launches larger = ending | OnlyOf(candidate);
      const Groups with = WithLaunch(groups, candidate);
      if (std::popcount(with.back().members) > limits_.group_launches_max) continue;
      if (ClosedGroups(with, left & (OnlyOf(candidate) - 1)) > limits_.groups_max) continue;
      TryStage(left, larger, best);
      TryEndings(left, larger, with, candidate - 1, best);
    }
  }

  void TryStage(Launches left, Launches ending, Best& best) {
    if (++transitions_ > limits_.transitions_max) return;
    const auto [known, is_new] = stage_us_.try_emplace(ending, 0);
    if (is_new) known->second = EndingUs(ending);
    const double stage_us = known->second;
    if (stage_us > best.us) return;
    const Best before = FastestOf(left & ~ending);
    const double us = stage_us + before.us;
    const int stages = before.stages + 1;
    if (us < best.us || (us == best.us && stages < best.stages)) best = {us, stages, ending};
  }

  // Infinite where the stage has too many groups.
  double EndingUs(Launches ending) {
    members_.clear();
    int groups = 0;
    for (; ending != 0; ++groups) {
      if (groups == limits_.groups_max) return std::numeric_limits<double>::infinity();
      const Launches group = GroupAround(std::countr_zero(ending), ending);
      ending &= ~group;
      for (Launches left = group; left != 0; left &= left - 1) {
        members_.push_back({std::countr_zero(left), groups});
      }
    }
    return MembersUs(problem_, members_, groups);
  }

  const ScheduleProblem& problem_;
  const StageLimits& limits_;
  std::vector<Launches> predecessors_;
  std::vector<Launches> readers_;
  absl::flat_hash_map<Launches, Best> best_;
  absl::flat_hash_map<Launches, double> stage_us_;
  std::vector<Member> members_;  // of the stage that is looked at
  int transitions_ = 0;
};

}  // namespace

double StageUs(const ScheduleProblem& problem, const Stage& stage) {
  std::vector<Member> members;
  for (size_t group = 0; group < stage.size(); ++group) {
    for (const int launch : stage[group]) members.push_back({launch, static_cast<int>(group)});
  }
  return MembersUs(problem, members, static_cast<int>(stage.size()));
}

std::optional<std::vector<Stage>> FastestStages(const ScheduleProblem& problem,
                                                const StageLimits& limits) {
  return StageSearch(problem, limits).Run();
}

}  // namespace plait
