#include <algorithm>
#include <utility>

#include "optimizer/schedule/blocks.h"
#include "optimizer/schedule/matching.h"
#include "optimizer/schedule/merge_chains.h"
#include "optimizer/schedule/policy.h"
#include "optimizer/schedule/reachability.h"

// A fork-join of six launches: 0 -> 1 -> 3 -> 5 and 0 -> 2 -> 4 -> 5. The matching pairs 0-1, 1-3,
// 2-4 and 3-5, so the paths are 0 1 3 5 and 2 4, one stream each, and two waits are left: 2 for 0
// and 5 for 4. Two paths of which one ends before the other begins would share a stream. O(N * E)
// for the matching, and a bit per pair of launches.
//
// Where these are more streams than the device has, a cover by chains of the transitive closure is
// tried: it has as few as there are launches side by side (Dilworth 1950), for more waits. If that
// is too many as well, chains share streams that may overlap, and lose some of it. O(N * N).

namespace plait {
namespace {

// Follows partners from the heads of chains: chain[i] is the number of the chain that i is in.
std::vector<int> NumberChains(const std::vector<int>& next) {
  std::vector<bool> is_head(next.size(), true);
  for (const int follower : next) {
    if (follower >= 0) is_head[follower] = false;
  }
  std::vector<int> chain(next.size(), -1);
  int count = 0;
  for (size_t head = 0; head < next.size(); ++head) {
    if (!is_head[head]) continue;
    for (int item = static_cast<int>(head); item >= 0; item = next[item]) chain[item] = count;
    ++count;
  }
  return chain;
}

// Chains that never overlap in time share a stream: a second matching, over chains, where i may be
// followed by j when i's last launch comes before j's first. By launch.
std::vector<int> ShareStreams(const std::vector<int>& chain_of, const Reachability& reachability) {
  const int count = ChainCount(chain_of);
  std::vector<int> first(count, -1);
  std::vector<int> last(count, -1);
  for (size_t launch = 0; launch < chain_of.size(); ++launch) {
    if (first[chain_of[launch]] < 0) first[chain_of[launch]] = static_cast<int>(launch);
    last[chain_of[launch]] = static_cast<int>(launch);
  }
  std::vector<std::vector<int>> followers(count);
  for (int i = 0; i < count; ++i) {
    for (int j = 0; j < count; ++j) {
      if (i != j && reachability.Reaches(last[i], first[j])) followers[i].push_back(j);
    }
  }
  const std::vector<int> stream_of_chain = NumberChains(MaximumMatching(followers, count));
  std::vector<int> stream_of;
  for (const int chain : chain_of) stream_of.push_back(stream_of_chain[chain]);
  return stream_of;
}

// Chains of a closure of so many launches are found in well under a second.
constexpr int kClosureLaunchesMax = 2000;

// The fewest streams of which none has launches that may run side by side.
std::vector<int> ChainsOfClosure(const Reachability& reachability, int launches) {
  std::vector<std::vector<int>> followers(launches);
  for (int i = 0; i < launches; ++i) {
    for (int j = i + 1; j < launches; ++j) {
      if (reachability.Reaches(i, j)) followers[i].push_back(j);
    }
  }
  return NumberChains(MaximumMatching(followers, launches));
}

// No more streams than the device has, with the least lost.
std::vector<int> FitStreams(const ScheduleProblem& problem, const Reachability& reachability,
                            const std::vector<int>& chain_of) {
  const int streams_max = std::max(1, problem.device.streams_max);
  std::vector<int> stream_of = ShareStreams(chain_of, reachability);
  if (ChainCount(stream_of) <= streams_max) return stream_of;
  const auto launches = static_cast<int>(chain_of.size());
  if (launches <= kClosureLaunchesMax) {
    stream_of = ChainsOfClosure(reachability, launches);
    if (ChainCount(stream_of) <= streams_max) return stream_of;
  }
  return MergeChains(problem, reachability, chain_of, streams_max);
}

// Nimble (NeurIPS 2020, section 4.2): a maximum matching on the transitive reduction is a minimum
// path cover; each path is a stream, so that launches without a path between them never share one,
// with the fewest waits. A launch beside nothing takes the faster width, one beside others the
// narrow one.
Schedule AssignNimble(const ScheduleProblem& problem, ScheduleMemo& /*memo*/) {
  std::vector<std::vector<int>> predecessors;
  for (const Launch& launch : problem.launches) predecessors.push_back(launch.predecessors);
  const Reachability reachability(predecessors);
  std::vector<std::vector<int>> successors(problem.launches.size());
  for (size_t launch = 0; launch < problem.launches.size(); ++launch) {
    for (const int predecessor : reachability.ReducedPredecessors(static_cast<int>(launch))) {
      successors[predecessor].push_back(static_cast<int>(launch));
    }
  }
  const std::vector<int> chain_of =
      NumberChains(MaximumMatching(successors, static_cast<int>(problem.launches.size())));
  const std::vector<int> stream_of = FitStreams(problem, reachability, chain_of);
  const std::vector<bool> is_by_itself = AreBottlenecks(problem);
  Schedule schedule;
  for (size_t launch = 0; launch < problem.launches.size(); ++launch) {
    const bool whole = is_by_itself[launch] && problem.launches[launch].whole_is_faster();
    schedule.push_back({static_cast<int>(launch), stream_of[launch], whole});
  }
  return schedule;
}

}  // namespace

const SchedulePolicy kNimblePolicy = {.name = "nimble", .assign_with = AssignNimble};

}  // namespace plait
