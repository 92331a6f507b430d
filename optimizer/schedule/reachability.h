#pragma once

#include <cstdint>
#include <vector>

namespace plait {

// Which launches depend, directly or not, on which: paths in the graph of a problem, before any
// stream is chosen, where PartialOrder and StepClocks speak of a schedule's streams and waits. One
// bit per pair. A value; safe to read from any thread.
class Reachability {
 public:
  // predecessors[i] are indices below i.
  explicit Reachability(const std::vector<std::vector<int>>& predecessors);

  // True when there is a path from `earlier` to `later`. False for a launch and itself.
  bool Reaches(int earlier, int later) const {
    return (ancestors_[later][earlier / 64] >> (earlier % 64) & 1) != 0;
  }

  // The direct predecessors of a launch without those that another predecessor implies: its row of
  // the transitive reduction. Ascending.
  std::vector<int> ReducedPredecessors(int launch) const;

 private:
  std::vector<std::vector<int>> predecessors_;
  std::vector<std::vector<uint64_t>> ancestors_;
};

// Launches that come before or after every other launch, ascending: everything must pass through
// them. predecessors[i] are indices below i.
std::vector<int> Bottlenecks(const std::vector<std::vector<int>>& predecessors);

}  // namespace plait
