#pragma once

#include "client/gate/decide.h"
#include "gpu_worker/executor/measure_plans.h"

namespace plait {

// A graph with its plan and its weights. What is referred to must outlive whoever measures it.
struct GatedPlan {
  const Graph& graph;
  const Plan& plan;
  const WeightSource& weights;
  ExecutableLoader load = nullptr;  // as of a CandidatePlan
};

// Measures two plans on a device, on seeded random inputs. A load has an even number of rounds, two
// at least and eight at most: as many as take about as long as loading did, because loads that
// differ are as common as rounds that do. What a round is: see MeasurePlans.
class PairedPlans : public PairSource {
 public:
  // `executor` must outlive this.
  PairedPlans(Executor& executor, const GatedPlan& base, const GatedPlan& changed, uint64_t seed)
      : executor_(executor), base_(base), changed_(changed), seed_(seed) {}

  // Errors: those of Executor::Load; ResourceExhausted when there is no room for both at a time.
  absl::StatusOr<PairedLoad> MeasureLoad(bool new_first) override;

 private:
  absl::StatusOr<std::unique_ptr<Executable>> Load(const GatedPlan& plan);

  Executor& executor_;
  const GatedPlan base_;
  const GatedPlan changed_;
  const uint64_t seed_;
};

}  // namespace plait
