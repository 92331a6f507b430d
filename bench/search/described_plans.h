#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "optimizer/cost/described_device.h"
#include "optimizer/cover/cover.h"
#include "optimizer/plan/plan.h"
#include "optimizer/schedule/policy.h"

namespace plait {

// The cover of a graph, and its kernels as the device runs them, so that they can be priced again.
// What a cover pays for a kernel is not what it takes alone where copies are made, or saved, for
// its sake.
struct CoveredGraph {
  Cover cover;
  std::vector<DescribedKernel> kernels;  // by step
  std::vector<double> ratios;            // of what the cover pays to what the kernel takes; by step
};

// The cover that a search takes for the graph on so many streams of the device; without `fuse` one
// kernel a node, as in a baseline. Errors: FailedPrecondition naming a node that no kernel can run.
absl::StatusOr<CoveredGraph> CoverDescribed(const Graph& graph, const DescribedDevice& device,
                                            int streams, PredictionDetail detail, bool fuse = true);

// What the device is predicted to run the graph by: the baseline's plan and the fused ones.
absl::StatusOr<std::vector<Plan>> PlansOnDescribed(const Graph& graph,
                                                   const DescribedDevice& device);

// The launches with the times and shares that the device gives them: one that has other rates than
// that which the cover was made for has the same kernels at other prices.
ScheduleProblem ProblemOn(const CoveredGraph& covered, const DescribedDevice& device,
                          PredictionDetail detail);

}  // namespace plait
