#include "gpu_worker/executor/measure_plans.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "base/statistics.h"
#include "base/status_macros.h"
#include "gpu_worker/executor/compare_outputs.h"
#include "gpu_worker/executor/make_inputs.h"
#include "gpu_worker/executor/memory_limits.h"
#include "gpu_worker/executor/stopwatch.h"
#include "optimizer/ops/shared/axes.h"

namespace plait {
namespace {

// Fewer paired samples give no interval worth the name.
constexpr int kRoundsMin = 3;

// A candidate while it is measured.
struct LoadedCandidate {
  absl::Status status;  // once it is not OK the candidate is left alone
  std::unique_ptr<Executable> executable;
  CandidateMeasurement measurement;
};

using Outputs = std::vector<Tensor>;

absl::Status CheckNotStopped(const MeasureOptions& options) {
  if (!options.stop.stop_requested()) return absl::OkStatus();
  return absl::CancelledError("the measurement is not wanted any more");
}

// Loads what has room beside what is loaded already.
absl::Status LoadCandidate(Executor& executor, const CandidatePlan& plan,
                           const WeightSource& weights, int64_t& taken_bytes,
                           LoadedCandidate& candidate) {
  const int64_t bytes = SaturatingAdd(taken_bytes, LoadedBytes(*plan.graph, *plan.plan));
  PLAIT_RETURN_IF_ERROR(CheckMemory("candidates", bytes, executor.device()));
  PLAIT_ASSIGN_OR_RETURN(candidate.executable, executor.Load(*plan.graph, *plan.plan, weights));
  candidate.measurement.fallback_nodes = candidate.executable->fallback_nodes();
  taken_bytes = bytes;
  return absl::OkStatus();
}

// Draws all inputs, if there is room for them and for the outputs that are kept beside them.
// REQUIRES: the graph was loaded, which checks its types.
absl::StatusOr<std::vector<std::vector<Tensor>>> MakeAllInputs(const Executor& executor,
                                                               const Graph& graph,
                                                               const MeasureOptions& options,
                                                               int64_t& taken_bytes) {
  const int count = std::max(1, options.inputs_tried);
  // One more, for the outputs of the candidate that is being compared.
  for (int i = 0; i < count + 1; ++i) taken_bytes = SaturatingAdd(taken_bytes, PortBytes(graph));
  PLAIT_RETURN_IF_ERROR(CheckMemory("inputs and outputs", taken_bytes, executor.device()));
  std::vector<std::vector<Tensor>> inputs;
  for (int i = 0; i < count; ++i) {
    PLAIT_ASSIGN_OR_RETURN(std::vector<Tensor> input, MakeInputs(graph, options.seed, i));
    inputs.push_back(std::move(input));
  }
  return inputs;
}

// Compares the candidate's outputs with `expected`, those of the original for each input; the
// original, which comes first, finds it empty and fills it.
absl::Status CompareOutputs(const std::vector<std::vector<Tensor>>& inputs,
                            const MeasureOptions& options, std::vector<Outputs>& expected,
                            LoadedCandidate& candidate) {
  for (size_t i = expected.size(); i < inputs.size(); ++i) {
    PLAIT_RETURN_IF_ERROR(CheckNotStopped(options));
    PLAIT_ASSIGN_OR_RETURN(Outputs outputs, candidate.executable->Run(inputs[i]));
    expected.push_back(std::move(outputs));
  }
  // The original, too, runs twice: outputs that differ from run to run prove nothing.
  OutputComparer comparer(options.rel_error_max);
  for (size_t i = 0; i < inputs.size(); ++i) {
    PLAIT_RETURN_IF_ERROR(CheckNotStopped(options));
    PLAIT_ASSIGN_OR_RETURN(const Outputs outputs, candidate.executable->Run(inputs[i]));
    comparer.Add(expected[i], outputs);
  }
  candidate.measurement.equivalence = comparer.Result().equivalence;
  return absl::OkStatus();
}

// The untimed run brings back what the candidate before has driven out of the caches.
absl::Status TimeRound(int repeats, LoadedCandidate& candidate) {
  PLAIT_RETURN_IF_ERROR(candidate.executable->Time(1).status());
  PLAIT_ASSIGN_OR_RETURN(std::vector<double> samples, candidate.executable->Time(repeats));
  candidate.measurement.latency_us.push_back(Median(std::move(samples)));
  return absl::OkStatus();
}

absl::Status RunRounds(const MeasureOptions& options, std::vector<LoadedCandidate>& loaded) {
  const Stopwatch stopwatch;
  const double time_max_us = absl::ToDoubleMicroseconds(options.time_max);
  const size_t count = loaded.size();
  for (int round = 0; round < options.rounds; ++round) {
    if (round >= kRoundsMin && stopwatch.elapsed_us() > time_max_us) break;
    for (size_t i = 0; i < count; ++i) {
      PLAIT_RETURN_IF_ERROR(CheckNotStopped(options));
      // Every other round runs backwards: what one candidate leaves in the caches helps no other
      // twice.
      LoadedCandidate& candidate = loaded[round % 2 == 0 ? i : count - 1 - i];
      if (candidate.status.ok()) {
        candidate.status = TimeRound(std::max(1, options.repeats), candidate);
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace

// Three candidates in four rounds run 0 1 2, 2 1 0, 0 1 2, 2 1 0. A machine that grows slower from
// round to round slows the samples of a round alike, and the ratios of a round's samples, which are
// what is judged, stay what they are.
absl::StatusOr<std::vector<absl::StatusOr<CandidateMeasurement>>> MeasurePlans(
    Executor& executor, absl::Span<const CandidatePlan> candidates, const WeightSource& weights,
    const MeasureOptions& options) {
  if (candidates.empty()) return absl::InvalidArgumentError("measure: no candidates");
  int64_t taken_bytes = 0;
  std::vector<LoadedCandidate> loaded(candidates.size());
  PLAIT_RETURN_IF_ERROR(LoadCandidate(executor, candidates[0], weights, taken_bytes, loaded[0]));
  PLAIT_ASSIGN_OR_RETURN(const auto inputs,
                         MakeAllInputs(executor, *candidates[0].graph, options, taken_bytes));
  std::vector<Outputs> expected;
  for (size_t i = 0; i < candidates.size(); ++i) {
    LoadedCandidate& candidate = loaded[i];
    if (i > 0) {
      candidate.status = LoadCandidate(executor, candidates[i], weights, taken_bytes, candidate);
    }
    if (candidate.status.ok()) {
      candidate.status = CompareOutputs(inputs, options, expected, candidate);
    }
    if (i == 0) PLAIT_RETURN_IF_ERROR(candidate.status);
  }
  PLAIT_RETURN_IF_ERROR(RunRounds(options, loaded));
  PLAIT_RETURN_IF_ERROR(loaded[0].status);
  std::vector<absl::StatusOr<CandidateMeasurement>> measurements;
  measurements.reserve(loaded.size());
  for (LoadedCandidate& candidate : loaded) {
    if (candidate.status.ok()) {
      measurements.emplace_back(std::move(candidate.measurement));
    } else {
      measurements.emplace_back(std::move(candidate.status));
    }
  }
  return measurements;
}

}  // namespace plait
