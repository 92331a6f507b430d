#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/random.h"
#include "optimizer/cover/kernel_table.h"
#include "optimizer/plan/make_plan.h"
#include "optimizer/search/budgeted_profiles.h"
#include "optimizer/search/search_device.h"
#include "optimizer/search/verifier.h"

namespace plait {

// A plan that nobody searched for, with what the simulator predicts it by.
struct SampledPlan {
  PlanCandidate candidate;
  int rewrites = 0;
  std::string policy;
  std::vector<SimulatedStep> steps;
  std::vector<int64_t> step_bytes;  // that each step moves
};

// Draws plans of one model at random: good ones, bad ones, and what lies between, which is what
// predictions are judged by. A search keeps plans that are alike.
//
// A plan's graph is one of a few, each at the end of a walk of random rewrites; its kernels are a
// cover of those that are left after some were struck out by lot, some with their width narrowed;
// its schedule is a policy's on any number of streams. Equal seeds and profiles give equal plans.
// Not thread-safe.
class PlanSampler {
 public:
  // All must outlive the sampler. Brings the profiles of all kernels of its graphs.
  // Errors: those of canonicalizing and of measuring.
  static absl::StatusOr<PlanSampler> Of(const Graph& graph, const SearchDevice& device,
                                        const PlanBinding& binding, BudgetedProfiles& profiles,
                                        uint64_t seed);

  // Another plan; it may be one that was drawn before. Errors: those of FindCover.
  absl::StatusOr<SampledPlan> Draw();

 private:
  struct Source {
    Graph graph;
    int rewrites = 0;
    KernelTable table;
  };

  PlanSampler(const SearchDevice& device, const PlanBinding& binding, uint64_t seed)
      : device_(device), binding_(binding), random_(seed) {}

  absl::Status AddSource(Graph graph, int rewrites, BudgetedProfiles& profiles);
  KernelTable Thinned(const KernelTable& table);

  const SearchDevice& device_;
  PlanBinding binding_;
  Random random_;
  std::vector<Source> sources_;
};

}  // namespace plait
