#include "optimizer/schedule/makespan_bound.h"

#include <algorithm>
#include <numeric>

#include "optimizer/schedule/reachability.h"

// Launch 0 of 2 us, behind it three of 4 us that want the whole device each, behind these launch 4
// of 1 us. The longest path is 2 + 4 + 1 = 7 us and all work 15 us by shares of 1, or 12.5 us where
// launches 0 and 4 want a quarter. Yet nothing can run beside launches 0 and 4: the three begin at
// 2 us or later, have 12 us of work, and 1 us has to follow: 15 us.
//
// A head, the moment before which a launch cannot begin, is found in order of launches: for each
// moment at which some of its ancestors can begin, these have to be done between that moment and
// the head. Tails are heads of the problem turned round.

namespace plait {
namespace {

// A launch as a bound sees it.
struct Load {
  double latency_us = 0;
  double compute_us = 0;    // share of the cores times latency
  double bandwidth_us = 0;  // likewise of the bandwidth
};

// The sum of some launches: what they need of the scarcer of both.
struct Work {
  double compute_us = 0;
  double bandwidth_us = 0;

  void Add(const Load& load) {
    compute_us += load.compute_us;
    bandwidth_us += load.bandwidth_us;
  }
  double us() const { return std::max(compute_us, bandwidth_us); }
};

Load LoadOfMode(const LaunchMode& mode) {
  return {mode.latency_us, mode.latency_us * (mode.alone ? 1 : mode.compute_share),
          mode.latency_us * mode.bandwidth_share};
}

Load LoadOf(const Launch& launch) {
  const Load whole = LoadOfMode(launch.whole);
  const Load part = LoadOfMode(launch.part);
  return {std::min(whole.latency_us, part.latency_us), std::min(whole.compute_us, part.compute_us),
          std::min(whole.bandwidth_us, part.bandwidth_us)};
}

// The earliest starts. predecessors[i] are indices below i.
std::vector<double> HeadsOf(const std::vector<Load>& loads,
                            const std::vector<std::vector<int>>& predecessors, double gap_us) {
  const Reachability paths(predecessors);
  std::vector<double> head_us(loads.size(), gap_us);
  std::vector<int> by_head;  // launches so far, the earliest first
  for (int launch = 0; launch < static_cast<int>(loads.size()); ++launch) {
    for (const int earlier : predecessors[launch]) {
      head_us[launch] =
          std::max(head_us[launch], head_us[earlier] + loads[earlier].latency_us + gap_us);
    }
    Work work;
    for (size_t i = by_head.size(); i-- > 0;) {
      const int earlier = by_head[i];
      if (!paths.Reaches(earlier, launch)) continue;
      work.Add(loads[earlier]);
      head_us[launch] = std::max(head_us[launch], head_us[earlier] + work.us() + gap_us);
    }
    const auto place = std::upper_bound(by_head.begin(), by_head.end(), launch,
                                        [&](int a, int b) { return head_us[a] < head_us[b]; });
    by_head.insert(place, launch);
  }
  return head_us;
}

// The problem turned round: launch n - 1 - i in the place of i, successors in that of predecessors.
std::vector<double> TailsOf(const std::vector<Load>& loads,
                            const std::vector<std::vector<int>>& predecessors, double gap_us) {
  const int last = static_cast<int>(loads.size()) - 1;
  std::vector<std::vector<int>> successors(loads.size());
  for (int launch = 0; launch <= last; ++launch) {
    for (const int earlier : predecessors[launch]) {
      successors[last - earlier].push_back(last - launch);
    }
  }
  const std::vector<Load> turned(loads.rbegin(), loads.rend());
  std::vector<double> tail_us = HeadsOf(turned, successors, gap_us);
  std::reverse(tail_us.begin(), tail_us.end());
  for (double& us : tail_us) us -= gap_us;  // what is last has none behind it
  return tail_us;
}

}  // namespace

MakespanBound BoundMakespan(const ScheduleProblem& problem) {
  std::vector<Load> loads;
  std::vector<std::vector<int>> predecessors;
  for (const Launch& launch : problem.launches) {
    loads.push_back(LoadOf(launch));
    predecessors.push_back(launch.predecessors);
  }
  const double gap_us = problem.device.overheads.launch_gap_us;
  const std::vector<double> head_us = HeadsOf(loads, predecessors, gap_us);
  MakespanBound bound{.tail_us = TailsOf(loads, predecessors, gap_us)};
  std::vector<int> by_tail(loads.size());  // the longest first
  std::iota(by_tail.begin(), by_tail.end(), 0);
  std::stable_sort(by_tail.begin(), by_tail.end(),
                   [&](int a, int b) { return bound.tail_us[a] > bound.tail_us[b]; });
  for (size_t launch = 0; launch < loads.size(); ++launch) {
    bound.makespan_us = std::max(
        bound.makespan_us, head_us[launch] + loads[launch].latency_us + bound.tail_us[launch]);
    Work work;
    for (const int other : by_tail) {
      if (head_us[other] < head_us[launch]) continue;
      work.Add(loads[other]);
      bound.makespan_us =
          std::max(bound.makespan_us, head_us[launch] + work.us() + bound.tail_us[other]);
    }
  }
  return bound;
}

}  // namespace plait
