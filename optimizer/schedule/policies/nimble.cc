#include <algorithm>

#include "optimizer/schedule/blocks.h"
#include "optimizer/schedule/matching.h"
#include "optimizer/schedule/policy.h"
#include "optimizer/schedule/reachability.h"

// A fork-join of six launches: 0 -> 1 -> 3 -> 5 and 0 -> 2 -> 4 -> 5. The matching pairs 0-1, 1-3,
// 2-4 and 3-5, so the paths are 0 1 3 5 and 2 4, one stream each, and two waits are left: 2 for 0
// and 5 for 4. Two paths of which one ends before the other begins would share a stream. O(N * E)
// for the matching, and a bit per pair of launches.

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
// followed by j when i's last launch comes before j's first.
std::vector<int> ShareStreams(const std::vector<int>& chain, const Reachability& reachability) {
  const int count = chain.empty() ? 0 : *std::max_element(chain.begin(), chain.end()) + 1;
  std::vector<int> first(count, -1);
  std::vector<int> last(count, -1);
  for (size_t launch = 0; launch < chain.size(); ++launch) {
    if (first[chain[launch]] < 0) first[chain[launch]] = static_cast<int>(launch);
    last[chain[launch]] = static_cast<int>(launch);
  }
  std::vector<std::vector<int>> followers(count);
  for (int i = 0; i < count; ++i) {
    for (int j = 0; j < count; ++j) {
      if (i != j && reachability.Reaches(last[i], first[j])) followers[i].push_back(j);
    }
  }
  return NumberChains(MaximumMatching(followers, count));
}

// Nimble (NeurIPS 2020, section 4.2): a maximum matching on the transitive reduction is a minimum
// path cover; each path is a stream, so that launches without a path between them never share one,
// with the fewest waits. Streams beyond what the device can run at once are folded onto the others.
// A launch beside nothing takes the faster width, one beside others the narrow one.
Schedule AssignNimble(const ScheduleProblem& problem) {
  std::vector<std::vector<int>> predecessors;
  for (const Launch& launch : problem.launches) predecessors.push_back(launch.predecessors);
  const Reachability reachability(predecessors);
  std::vector<std::vector<int>> successors(problem.launches.size());
  for (size_t launch = 0; launch < problem.launches.size(); ++launch) {
    for (const int predecessor : reachability.ReducedPredecessors(static_cast<int>(launch))) {
      successors[predecessor].push_back(static_cast<int>(launch));
    }
  }
  const std::vector<int> chain =
      NumberChains(MaximumMatching(successors, static_cast<int>(problem.launches.size())));
  const std::vector<int> stream_of_chain = ShareStreams(chain, reachability);
  const std::vector<bool> is_by_itself = AreBottlenecks(problem);
  Schedule schedule;
  for (size_t launch = 0; launch < problem.launches.size(); ++launch) {
    const int stream = stream_of_chain[chain[launch]] % std::max(1, problem.device.streams_max);
    const bool whole = is_by_itself[launch] && problem.launches[launch].whole_is_faster();
    schedule.push_back({static_cast<int>(launch), stream, whole});
  }
  return schedule;
}

}  // namespace

const SchedulePolicy kNimblePolicy = {.name = "nimble", .assign = AssignNimble};

}  // namespace plait
