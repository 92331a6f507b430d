#pragma once

#include <vector>

#include "optimizer/plan/plan.h"

namespace plait {

// The order that a finished plan promises, read off its streams, waits and full-width steps as
// vector clocks (Mattern 1989): per step, the last step of every stream that precedes it. The same
// relation as PartialOrder's, which tells a schedule in the making what to wait for; here one
// number per step and stream, in the place of a bit per pair, serves for plans of any length.
// A value; safe to read from any thread.
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
