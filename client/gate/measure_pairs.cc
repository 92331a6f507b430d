#include "client/gate/measure_pairs.h"

#include <utility>

#include "base/statistics.h"
#include "base/status_macros.h"
#include "gpu_worker/executor/make_inputs.h"
#include "gpu_worker/executor/stopwatch.h"
#include "optimizer/cost/measuring_rules.h"
#include "optimizer/ops/shared/axes.h"
#include "optimizer/plan/loaded_bytes.h"

namespace plait {
namespace {

// Even numbers: each model is the first one of a round as often as the other.
constexpr int kRoundsMin = 2;
constexpr int kRoundsMax = 8;

absl::Status TimeRound(Executable& executable, const RoundRuns& runs, std::vector<double>& us) {
  PLAIT_RETURN_IF_ERROR(executable.Time(runs.untimed).status());
  PLAIT_ASSIGN_OR_RETURN(std::vector<double> samples, executable.Time(runs.timed));
  us.push_back(Median(std::move(samples)));
  return absl::OkStatus();
}

}  // namespace

// Ready to be timed: its first run, which pages in, is over.
absl::StatusOr<std::unique_ptr<Executable>> PairedPlans::Load(const GatedPlan& plan) {
  PLAIT_ASSIGN_OR_RETURN(
      std::unique_ptr<Executable> executable,
      plan.load != nullptr ? plan.load() : executor_.Load(plan.graph, plan.plan, plan.weights));
  PLAIT_ASSIGN_OR_RETURN(const std::vector<Tensor> inputs, MakeInputs(plan.graph, seed_));
  PLAIT_RETURN_IF_ERROR(executable->SetInputs(inputs));
  PLAIT_RETURN_IF_ERROR(executable->Time(1).status());
  return executable;
}

absl::StatusOr<PairedLoad> PairedPlans::MeasureLoad(bool new_first) {
  PLAIT_RETURN_IF_ERROR(CheckMemory("two models",
                                    SaturatingAdd(LoadedBytes(base_.graph, base_.plan),
                                                  LoadedBytes(changed_.graph, changed_.plan)),
                                    executor_.device()));
  const Stopwatch loading;
  std::unique_ptr<Executable> base;
  std::unique_ptr<Executable> changed;
  for (const bool is_new : {new_first, !new_first}) {
    PLAIT_ASSIGN_OR_RETURN((is_new ? changed : base), Load(is_new ? changed_ : base_));
  }
  // By the base for both: what is compared is taken alike.
  PLAIT_ASSIGN_OR_RETURN(const std::vector<double> run_us, base->Time(1));
  const RoundRuns runs = RunsOfRound(run_us[0]);
  const double loading_us = loading.elapsed_us();

  PairedLoad load;
  const Stopwatch running;
  for (int round = 0; round < kRoundsMax; ++round) {
    const bool is_enough = round >= kRoundsMin && round % 2 == 0;
    if (is_enough && running.elapsed_us() > loading_us) break;
    const bool starts_with_new = new_first == (round % 2 == 0);
    for (const bool is_new : {starts_with_new, !starts_with_new}) {
      PLAIT_RETURN_IF_ERROR(is_new ? TimeRound(*changed, runs, load.new_us)
                                   : TimeRound(*base, runs, load.base_us));
    }
  }
  return load;
}

}  // namespace plait
