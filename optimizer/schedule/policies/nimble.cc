#include <algorithm>

#include "optimizer/schedule/matching.h"
#include "optimizer/schedule/policy.h"
#include "optimizer/schedule/reachability.h"

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
// followed by j when i's last task comes before j's first.
std::vector<int> ShareStreams(const std::vector<int>& chain, const Reachability& reachability) {
  const int count = chain.empty() ? 0 : *std::max_element(chain.begin(), chain.end()) + 1;
  std::vector<int> first(count, -1);
  std::vector<int> last(count, -1);
  for (size_t task = 0; task < chain.size(); ++task) {
    if (first[chain[task]] < 0) first[chain[task]] = static_cast<int>(task);
    last[chain[task]] = static_cast<int>(task);
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
// path cover; each path is a stream, so that tasks without a path between them never share one,
// with the fewest waits. Streams beyond what the device can run at once are folded onto the others.
Schedule AssignNimble(const ScheduleProblem& problem) {
  std::vector<std::vector<int>> predecessors;
  for (const ScheduleTask& task : problem.tasks) predecessors.push_back(task.predecessors);
  const Reachability reachability(predecessors);
  std::vector<std::vector<int>> successors(problem.tasks.size());
  for (size_t task = 0; task < problem.tasks.size(); ++task) {
    for (const int predecessor : reachability.ReducedPredecessors(static_cast<int>(task))) {
      successors[predecessor].push_back(static_cast<int>(task));
    }
  }
  const std::vector<int> chain =
      NumberChains(MaximumMatching(successors, static_cast<int>(problem.tasks.size())));
  const std::vector<int> stream_of_chain = ShareStreams(chain, reachability);
  Schedule schedule;
  for (size_t task = 0; task < problem.tasks.size(); ++task) {
    const int stream = stream_of_chain[chain[task]] % std::max(1, problem.device.streams_max);
    schedule.push_back({static_cast<int>(task), stream, false});
  }
  return schedule;
}

}  // namespace

const SchedulePolicy kNimblePolicy = {.name = "nimble", .assign = AssignNimble};

}  // namespace plait
