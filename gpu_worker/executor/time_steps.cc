#include "gpu_worker/executor/time_steps.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/statistics.h"
#include "base/status_macros.h"
#include "gpu_worker/executor/check_load.h"
#include "gpu_worker/executor/make_inputs.h"
#include "gpu_worker/executor/stopwatch.h"
#include "optimizer/cost/measuring_rules.h"
#include "optimizer/ops/shared/axes.h"
#include "optimizer/plan/loaded_bytes.h"

namespace plait {
namespace {

// A plan while its steps are timed.
struct TimedPlan {
  CandidatePlan plan;
  absl::Status status;  // once it is not OK the plan is left alone
  std::unique_ptr<Executable> executable;
  RoundRuns runs;
  std::vector<std::vector<double>> step_us;  // by step: one time per round
};

class StepTiming {
 public:
  StepTiming(Executor& executor, absl::Span<const CandidatePlan> candidates,
             const WeightSource& weights, const StepTimesOptions& options)
      : executor_(executor), weights_(weights), options_(options) {
    for (const CandidatePlan& candidate : candidates) plans_.emplace_back().plan = candidate;
  }

  absl::StatusOr<std::vector<absl::StatusOr<std::vector<double>>>> Run() {
    for (TimedPlan& plan : plans_) {
      PLAIT_RETURN_IF_ERROR(CheckNotStopped());
      plan.status = Load(plan);
    }
    const Stopwatch stopwatch;
    const absl::Duration wait_allowed = executor_.wait_left();
    for (int round = 0; round < std::max(options_.rounds, options_.rounds_min); ++round) {
      const absl::Duration waited = wait_allowed - executor_.wait_left();
      const bool is_late = absl::Microseconds(stopwatch.elapsed_us()) - waited > options_.time_max;
      if (round >= options_.rounds_min && is_late) break;
      executor_.AwaitNearThreads(options_.stop);
      for (size_t i = 0; i < plans_.size(); ++i) {
        PLAIT_RETURN_IF_ERROR(CheckNotStopped());
        TimedPlan& plan = plans_[round % 2 == 0 ? i : plans_.size() - 1 - i];
        if (plan.status.ok()) plan.status = TimeRound(plan);
      }
    }
    return Results();
  }

 private:
  absl::Status CheckNotStopped() const {
    if (!options_.stop.stop_requested()) return absl::OkStatus();
    return absl::CancelledError("the times are not wanted any more");
  }

  // Loads what has room beside what is loaded already.
  absl::Status Load(TimedPlan& plan) {
    const Graph* const graph = plan.plan.graph;
    const Plan* const steps = plan.plan.plan;
    const int64_t bytes = SaturatingAdd(loaded_bytes_, LoadedBytes(*graph, *steps));
    PLAIT_RETURN_IF_ERROR(CheckMemory("plans beside each other", bytes, executor_.device()));
    PLAIT_ASSIGN_OR_RETURN(plan.executable, executor_.Load(*graph, *steps, weights_));
    loaded_bytes_ = bytes;
    PLAIT_ASSIGN_OR_RETURN(const std::vector<Tensor> inputs,
                           MakeInputs(*graph, options_.seed, /*index=*/0));
    PLAIT_RETURN_IF_ERROR(plan.executable->SetInputs(inputs));
    PLAIT_ASSIGN_OR_RETURN(const std::vector<double> run_us, plan.executable->Time(2));
    plan.runs = RunsOfRound(run_us.back());
    plan.step_us.resize(steps->steps.size());
    return absl::OkStatus();
  }

  absl::Status TimeRound(TimedPlan& plan) {
    PLAIT_RETURN_IF_ERROR(plan.executable->Time(std::max(1, plan.runs.untimed)).status());
    std::vector<std::vector<double>> of_round(plan.step_us.size());
    for (int run = 0; run < plan.runs.timed; ++run) {
      PLAIT_ASSIGN_OR_RETURN(const std::vector<double> step_us, plan.executable->TimeSteps());
      for (size_t step = 0; step < step_us.size(); ++step) of_round[step].push_back(step_us[step]);
    }
    for (size_t step = 0; step < of_round.size(); ++step) {
      plan.step_us[step].push_back(Median(std::move(of_round[step])));
    }
    return absl::OkStatus();
  }

  std::vector<absl::StatusOr<std::vector<double>>> Results() {
    std::vector<absl::StatusOr<std::vector<double>>> results;
    for (TimedPlan& plan : plans_) {
      if (!plan.status.ok()) {
        results.emplace_back(std::move(plan.status));
        continue;
      }
      std::vector<double> medians;
      for (std::vector<double>& samples : plan.step_us) {
        medians.push_back(Median(std::move(samples)));
      }
      results.emplace_back(std::move(medians));
    }
    return results;
  }

  Executor& executor_;
  const WeightSource& weights_;
  const StepTimesOptions& options_;
  std::vector<TimedPlan> plans_;
  int64_t loaded_bytes_ = 0;
};

}  // namespace

absl::StatusOr<std::vector<absl::StatusOr<std::vector<double>>>> TimeSteps(
    Executor& executor, absl::Span<const CandidatePlan> candidates, const WeightSource& weights,
    const StepTimesOptions& options) {
  return StepTiming(executor, candidates, weights, options).Run();
}

}  // namespace plait
