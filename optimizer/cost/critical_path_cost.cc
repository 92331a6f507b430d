#include "optimizer/cost/critical_path_cost.h"

#include <algorithm>

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
