#include "optimizer/schedule/blocks.h"

#include <algorithm>
#include <utility>

#include "optimizer/schedule/reachability.h"

namespace plait {
namespace {

std::vector<int> BottlenecksOf(const ScheduleProblem& problem) {
  std::vector<std::vector<int>> predecessors;
  for (const Launch& launch : problem.launches) predecessors.push_back(launch.predecessors);
  return Bottlenecks(predecessors);
}

}  // namespace

std::vector<bool> AreBottlenecks(const ScheduleProblem& problem) {
  std::vector<bool> are(problem.launches.size(), false);
  for (const int launch : BottlenecksOf(problem)) are[launch] = true;
  return are;
}

std::vector<Block> FindBlocks(const ScheduleProblem& problem, int launches_max) {
  std::vector<int> ends = BottlenecksOf(problem);
  ends.push_back(static_cast<int>(problem.launches.size()));
  std::vector<Block> blocks;
  int first = 0;
  for (const int end : ends) {
    for (; first < end; first += launches_max) {
      blocks.push_back({first, std::min(end, first + launches_max)});
    }
    first = end + 1;
  }
  return blocks;
}

ScheduleProblem BodyOf(const ScheduleProblem& problem, const Block& block) {
  ScheduleProblem body;
  body.device = problem.device;
  for (int launch = block.first; launch < block.end; ++launch) {
    Launch inner = problem.launches[launch];
    std::vector<int> predecessors;
    for (const int predecessor : inner.predecessors) {
      if (predecessor >= block.first) predecessors.push_back(predecessor - block.first);
    }
    inner.predecessors = std::move(predecessors);
    body.launches.push_back(std::move(inner));
  }
  return body;
}

}  // namespace plait
