#pragma once

#include <optional>
#include <vector>

#include "optimizer/cost/described_device.h"
#include "optimizer/kernels/kernel_catalog.h"
#include "optimizer/plan/plan.h"

namespace plait {

// What the steps of a plan take on a described device. Never a measurement, and never called one.
// Thread-safe.
class PredictedTimes {
 public:
  // `catalog`: the device's.
  PredictedTimes(const DescribedDevice& device, const KernelCatalog& catalog, const Graph& graph,
                 const Plan& plan);

  // Of each step, in microseconds; 0 for a step that the description does not know, as one that
  // runs on the host. `device`: the same, or one that has other rates and times alone.
  std::vector<double> StepsUs(const DescribedDevice& device) const;

  // Of a whole run: the plan's schedule, simulated.
  double RunUs(const DescribedDevice& device) const;

 private:
  // A step as it is scheduled, and its kernel; none: the description does not know it.
  struct PredictedStep {
    int stream = 0;
    bool alone = false;
    std::vector<int> waits;
    std::optional<DescribedKernel> kernel;
  };

  std::vector<PredictedStep> steps_;
};

}  // namespace plait
