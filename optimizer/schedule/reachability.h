#pragma once

#include <cstdint>
#include <vector>

namespace plait {

// Which launches come, directly or not, before which: one bit per pair.
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

  // Launches that come before or after every other launch, ascending: everything must pass through
  // them.
  std::vector<int> Bottlenecks() const;

 private:
  std::vector<std::vector<int>> predecessors_;
  std::vector<std::vector<uint64_t>> ancestors_;
};

}  // namespace plait
