#include "gpu_worker/executor/measure_plans.h"

#include <algorithm>

#include "base/status_macros.h"
#include "gpu_worker/executor/make_inputs.h"
#include "gpu_worker/executor/stopwatch.h"

namespace plait {
namespace {

constexpr int kRoundsMin = 3;

// A candidate while it is measured.
struct LoadedCandidate {
  std::unique_ptr<Executable> executable;
  PlanMeasurement measurement;
};

double Median(std::vector<double> samples) {
  const auto middle = samples.begin() + static_cast<int64_t>(samples.size() / 2);
  std::nth_element(samples.begin(), middle, samples.end());
  return *middle;
}

absl::Status CompareWith(const std::vector<std::vector<Tensor>>& inputs,
                         const std::vector<std::vector<Tensor>>& expected, double rel_error_max,
                         LoadedCandidate* contestant) {
  OutputComparer comparer(rel_error_max);
  for (size_t i = 0; i < inputs.size(); ++i) {
    PLAIT_ASSIGN_OR_RETURN(const std::vector<Tensor> outputs,
                           contestant->executable->Run(inputs[i]));
    comparer.Add(expected[i], outputs);
  }
  contestant->measurement.comparison = comparer.Result();
  return absl::OkStatus();
}

absl::Status TimeRound(int repeats, LoadedCandidate* contestant) {
  PLAIT_RETURN_IF_ERROR(contestant->executable->Time(1).status());
  PLAIT_ASSIGN_OR_RETURN(std::vector<double> samples, contestant->executable->Time(repeats));
  contestant->measurement.samples_us.push_back(Median(std::move(samples)));
  return absl::OkStatus();
}

void RunRounds(const MeasureOptions& measuring, std::vector<LoadedCandidate>* contestants) {
  const Stopwatch stopwatch;
  const double time_max_us = absl::ToDoubleMicroseconds(measuring.time_max);
  const size_t count = contestants->size();
  for (int round = 0; round < measuring.rounds; ++round) {
    if (round >= kRoundsMin && stopwatch.elapsed_us() > time_max_us) return;
    for (size_t i = 0; i < count; ++i) {
      // Every other round runs backwards: what one candidate leaves in the caches helps no other
      // twice.
      LoadedCandidate& contestant = (*contestants)[round % 2 == 0 ? i : count - 1 - i];
      if (!contestant.measurement.status.ok()) continue;
      const absl::Status status = TimeRound(std::max(1, measuring.repeats), &contestant);
      if (status.ok()) continue;
      contestant.measurement.status = status;
      contestant.measurement.samples_us.clear();
    }
  }
}

}  // namespace

absl::StatusOr<std::vector<PlanMeasurement>> MeasurePlans(
    Executor* executor, absl::Span<const CandidatePlan> candidates, const WeightSource& weights,
    const MeasureOptions& measuring) {
  if (candidates.empty()) return absl::InvalidArgumentError("measure: no candidates");
  std::vector<std::vector<Tensor>> inputs;
  for (int i = 0; i < std::max(1, measuring.inputs_tried); ++i) {
    PLAIT_ASSIGN_OR_RETURN(std::vector<Tensor> input,
                           MakeInputs(*candidates[0].graph, measuring.seed + i));
    inputs.push_back(std::move(input));
  }
  std::vector<LoadedCandidate> contestants(candidates.size());
  std::vector<std::vector<Tensor>> expected;
  for (size_t i = 0; i < candidates.size(); ++i) {
    LoadedCandidate& contestant = contestants[i];
    absl::StatusOr<std::unique_ptr<Executable>> executable =
        executor->Load(*candidates[i].graph, *candidates[i].plan, weights);
    absl::Status& status = contestant.measurement.status;
    status = executable.status();
    if (status.ok()) {
      contestant.executable = *std::move(executable);
      contestant.measurement.fallback_nodes = contestant.executable->fallback_nodes();
      for (size_t j = 0; i == 0 && j < inputs.size(); ++j) {
        PLAIT_ASSIGN_OR_RETURN(std::vector<Tensor> outputs, contestant.executable->Run(inputs[j]));
        expected.push_back(std::move(outputs));
      }
      status = CompareWith(inputs, expected, measuring.rel_error_max, &contestant);
    }
    if (i == 0) PLAIT_RETURN_IF_ERROR(status);
  }
  RunRounds(measuring, &contestants);
  PLAIT_RETURN_IF_ERROR(contestants[0].measurement.status);
  std::vector<PlanMeasurement> measurements;
  measurements.reserve(contestants.size());
  for (LoadedCandidate& contestant : contestants) {
    measurements.push_back(std::move(contestant.measurement));
  }
  return measurements;
}

}  // namespace plait
