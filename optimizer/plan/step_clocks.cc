#include "optimizer/plan/step_clocks.h"

#include <algorithm>

// A step's clock holds, for each stream, the last step that precedes it. Seven steps on two
// streams, "-" where none does:
//
//   0 on stream 0               - -
//   1 on stream 1               - -
//   2 on stream 0, waits for 1  0 1
//   3 on stream 1               - 1
//   4 on stream 1, waits for 2  2 3
//   5 on stream 0, full width   2 4    all that came before
//   6 on stream 1               5 4    all up to the barrier
//
// Step 0 precedes 4, because 4's clock shows 2 for stream 0, and a stream keeps its order.
// O(streams) per step and wait.

namespace plait {

StepClocks::StepClocks(const Plan& plan)
    : streams_(static_cast<size_t>(plan.streams)), last_before_(plan.steps.size() * streams_, -1) {
  // By stream: its last step so far.
  std::vector<int> last(streams_, -1);
  int last_alone = -1;
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const Step& step = plan.steps[i];
    int* clock = &last_before_[i * streams_];
    const auto include = [&](int earlier) {
      const int* before = &last_before_[static_cast<size_t>(earlier) * streams_];
      for (size_t s = 0; s < streams_; ++s) clock[s] = std::max(clock[s], before[s]);
      clock[stream_[earlier]] = std::max(clock[stream_[earlier]], earlier);
    };
    if (step.kernel.width >= plan.threads) {
      // Runs alone: after all that was launched before it, and before all that comes later.
      std::copy(last.begin(), last.end(), clock);
      last_alone = static_cast<int>(i);
    } else {
      if (last_alone >= 0) include(last_alone);
      if (last[step.stream] >= 0) include(last[step.stream]);
      for (int wait : step.waits) include(wait);
    }
    last[step.stream] = static_cast<int>(i);
    stream_.push_back(step.stream);
  }
}

}  // namespace plait
