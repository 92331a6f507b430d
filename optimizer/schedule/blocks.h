#pragma once

#include <vector>

#include "optimizer/schedule/policy.h"

namespace plait {

// For each launch, whether it comes before or after every other one, so that nothing can run beside
// it.
std::vector<bool> AreBottlenecks(const ScheduleProblem& problem);

// Consecutive launches [first, end) of a problem that are scheduled on their own.
struct Block {
  int first = 0;
  int end = 0;
  friend bool operator==(const Block&, const Block&) = default;
};

// The bodies of fork-joins: what lies between bottlenecks, which are in no block. Longer ones than
// `launches_max` are cut. Ascending.
std::vector<Block> FindBlocks(const ScheduleProblem& problem, int launches_max);

// A block on its own: what comes from outside of it is there at the start.
ScheduleProblem BodyOf(const ScheduleProblem& problem, const Block& block);

}  // namespace plait
