#pragma once

#include <vector>

#include "optimizer/plan/plan.h"

namespace plait {

// Which steps of a plan have certainly finished before which others start, as vector clocks
// (Mattern, 1989): per step, the last step of every stream that precedes it. Takes one number per
// step and stream, so it serves for plans of any length.
class StepClocks {
 public:
  // REQUIRES: streams and waits of the steps are in range.
  explicit StepClocks(const Plan& plan);

  // True when `earlier` has finished whenever `later` starts. False for a step and itself.
  bool Precedes(int earlier, int later) const {
    return last_before_[static_cast<size_t>(later) * streams_ + stream_[earlier]] >= earlier;
  }

  int stream(int step) const { return stream_[step]; }

 private:
  size_t streams_;
  std::vector<int> stream_;       // by step
  std::vector<int> last_before_;  // by step and stream; -1 where none precedes
};

}  // namespace plait
