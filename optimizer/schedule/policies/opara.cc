#include <algorithm>
#include <set>
#include <utility>

#include "optimizer/schedule/blocks.h"
#include "optimizer/schedule/merge_chains.h"
#include "optimizer/schedule/policy.h"

// A fork-join of six launches, 0 -> 1 -> 3 -> 5 and 0 -> 2 -> 4 -> 5: launch 1 inherits the stream
// of 0, so 2 gets a new one; 3 and 4 follow 1 and 2, and 5 inherits that of 3. Were 1 bound by
// memory and 2 by multiplications, they would be issued in turn.

namespace plait {
namespace {

// The stream of each launch: that of the first predecessor that nobody has inherited from, else a
// new one. The launches of each are a path. Where these are more streams than the device has, they
// share those that lose least.
std::vector<int> InheritStreams(const ScheduleProblem& problem) {
  std::vector<int> streams;
  std::vector<bool> is_inherited(problem.launches.size(), false);
  int count = 0;
  for (const Launch& launch : problem.launches) {
    const auto heir = std::find_if(launch.predecessors.begin(), launch.predecessors.end(),
                                   [&](int predecessor) { return !is_inherited[predecessor]; });
    if (heir == launch.predecessors.end()) {
      streams.push_back(count++);
      continue;
    }
    is_inherited[*heir] = true;
    streams.push_back(streams[*heir]);
  }
  const int streams_max = std::max(1, problem.device.streams_max);
  if (count <= streams_max) return streams;
  std::vector<std::vector<int>> predecessors;
  for (const Launch& launch : problem.launches) predecessors.push_back(launch.predecessors);
  return MergeChains(problem, Reachability(predecessors), streams, streams_max);
}

// Issues launches from two queues in turn, those that want memory more than cores and the others,
// and of a queue the one that takes least of the cores.
class AlternatingOrder {
 public:
  explicit AlternatingOrder(const ScheduleProblem& problem)
      : problem_(problem),
        readers_(problem.launches.size()),
        open_predecessors_(problem.launches.size(), 0) {
    for (size_t launch = 0; launch < problem.launches.size(); ++launch) {
      for (const int predecessor : problem.launches[launch].predecessors) {
        readers_[predecessor].push_back(static_cast<int>(launch));
        ++open_predecessors_[launch];
      }
      if (open_predecessors_[launch] == 0) Add(static_cast<int>(launch));
    }
  }

  std::vector<int> Run() {
    std::vector<int> order;
    bool wants_memory = true;
    while (!of_memory_.empty() || !of_cores_.empty()) {
      std::set<Entry>& queue =
          (wants_memory && !of_memory_.empty()) || of_cores_.empty() ? of_memory_ : of_cores_;
      const int launch = queue.begin()->second;
      queue.erase(queue.begin());
      order.push_back(launch);
      wants_memory = !wants_memory;
      for (const int reader : readers_[launch]) {
        if (--open_predecessors_[reader] == 0) Add(reader);
      }
    }
    return order;
  }

 private:
  using Entry = std::pair<double, int>;  // share of the cores, launch

  void Add(int launch) {
    const LaunchMode& mode = problem_.launches[launch].part;
    std::set<Entry>& queue = mode.bandwidth_share > mode.compute_share ? of_memory_ : of_cores_;
    queue.insert({mode.compute_share, launch});
  }

  const ScheduleProblem& problem_;
  std::vector<std::vector<int>> readers_;
  std::vector<int> open_predecessors_;
  std::set<Entry> of_memory_;
  std::set<Entry> of_cores_;
};

// Opara (arXiv 2312.10351, section 4): streams in one pass, and an order of issue that puts
// launches side by side which want different parts of the device. A launch beside nothing takes the
// faster width, one beside others the narrow one.
Schedule AssignOpara(const ScheduleProblem& problem, ScheduleMemo& /*memo*/) {
  const std::vector<int> streams = InheritStreams(problem);
  const std::vector<bool> is_by_itself = AreBottlenecks(problem);
  Schedule schedule;
  for (const int launch : AlternatingOrder(problem).Run()) {
    const bool whole = is_by_itself[launch] && problem.launches[launch].whole_is_faster();
    schedule.push_back({launch, streams[launch], whole});
  }
  return schedule;
}

}  // namespace

const SchedulePolicy kOparaPolicy = {.name = "opara", .assign_with = AssignOpara};

}  // namespace plait
