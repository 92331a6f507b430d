#include "optimizer/cost/critical_path_cost.h"

#include <algorithm>

// A diamond of 1, 5 beside 2, and 3 us: T_1 = 11, and the longest path is 1 + 5 + 3 = 9. On two
// equal machines C_E says (11 + 9) / 2 = 10 us at most; the best schedule takes 9. O(steps +
// edges).

namespace plait {

PathCost MeasurePaths(absl::Span<const CostedStep> steps) {
  PathCost cost;
  std::vector<double> finish_us(steps.size(), 0);
  for (size_t step = 0; step < steps.size(); ++step) {
    double start_us = 0;
    for (const int predecessor : steps[step].predecessors) {
      start_us = std::max(start_us, finish_us[predecessor]);
    }
    finish_us[step] = start_us + steps[step].latency_us;
    cost.total_us += steps[step].latency_us;
    cost.critical_us = std::max(cost.critical_us, finish_us[step]);
  }
  return cost;
}

}  // namespace plait
