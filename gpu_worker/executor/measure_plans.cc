#include "gpu_worker/executor/measure_plans.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/simulated_device.h"
#include "base/statistics.h"
#include "base/status_macros.h"
#include "gpu_worker/executor/compare_outputs.h"
#include "gpu_worker/executor/exact_errors.h"
#include "gpu_worker/executor/exact_outputs.h"
#include "gpu_worker/executor/make_inputs.h"
#include "gpu_worker/executor/stopwatch.h"
#include "optimizer/cost/measuring_rules.h"
#include "optimizer/ops/shared/axes.h"
#include "optimizer/plan/loaded_bytes.h"

namespace plait {
namespace {

using Outputs = std::vector<Tensor>;

absl::Status CheckNotStopped(const MeasureOptions& options) {
  if (!options.stop.stop_requested()) return absl::OkStatus();
  return absl::CancelledError("the measurement is not wanted any more");
}

// A candidate while it is measured.
struct MeasuredCandidate {
  CandidatePlan plan;
  absl::Status status;  // once it is not OK the candidate is left alone
  std::unique_ptr<Executable> executable;
  CandidateMeasurement measurement;
};

class Measurement {
 public:
  Measurement(Executor& executor, absl::Span<const CandidatePlan> plans,
              const WeightSource& weights, const MeasureOptions& options)
      : executor_(executor), weights_(weights), options_(options) {
    for (const CandidatePlan& plan : plans) candidates_.emplace_back().plan = plan;
  }

  absl::StatusOr<std::vector<absl::StatusOr<CandidateMeasurement>>> Run() {
    for (int load = 0; load < std::max(1, options_.loads); ++load) {
      const bool is_enough = load >= loads_least() && rounds_ >= options_.rounds_min;
      if (load > 0 && is_simulated()) break;
      if (is_enough && TimeAfter(1) > time_max_us()) break;
      PLAIT_RETURN_IF_ERROR(MeasureLoad(load));
    }
    return Results();
  }

 private:
  bool is_simulated() const { return IsSimulatedFingerprint(executor_.device().fingerprint); }
  int loads_least() const { return std::clamp(options_.loads, 1, kLoadsLeast); }
  double time_max_us() const { return absl::ToDoubleMicroseconds(options_.time_max); }

  // The candidates in their order, or in the opposite one in every other turn.
  MeasuredCandidate& InTurn(int turn, size_t i) {
    return candidates_[turn % 2 == 0 ? i : candidates_.size() - 1 - i];
  }

  // Without what the executor has waited for.
  double elapsed_us() const {
    const absl::Duration waited = wait_allowed_ - executor_.wait_left();
    return stopwatch_.elapsed_us() - absl::ToDoubleMicroseconds(waited);
  }

  // The time that will have passed after so many further loads like those so far.
  double TimeAfter(int loads) const {
    const double elapsed_us = this->elapsed_us();
    return elapsed_us + loads * elapsed_us / std::max(1, loads_);
  }

  absl::Status MeasureLoad(int load) {
    loaded_bytes_ = 0;
    for (size_t i = 0; i < candidates_.size(); ++i) {
      // Every other load runs backwards: whoever comes first finds other memory.
      MeasuredCandidate& candidate = InTurn(load, i);
      if (candidate.status.ok()) candidate.status = Load(candidate);
      if (inputs_.empty()) {
        PLAIT_RETURN_IF_ERROR(candidate.status);
        PLAIT_RETURN_IF_ERROR(DrawInputs(*candidate.plan.graph));
      }
      if (candidate.status.ok() && load == 0) candidate.status = CompareOutputs(candidate);
      if (candidate.status.ok() && !is_simulated()) candidate.status = WarmUp(candidate);
      PLAIT_RETURN_IF_ERROR(CheckNotStopped(options_));
      PLAIT_RETURN_IF_ERROR(candidates_[0].status);
    }
    // What a simulated device says of times is no latency.
    if (!is_simulated()) PLAIT_RETURN_IF_ERROR(RunRounds());
    ++loads_;
    // Before the next load: two of them need not fit into memory, and its pages are to be others.
    for (MeasuredCandidate& candidate : candidates_) candidate.executable.reset();
    return candidates_[0].status;
  }

  // Loads what has room beside what is loaded already.
  absl::Status Load(MeasuredCandidate& candidate) {
    const int64_t bytes =
        SaturatingAdd(loaded_bytes_, LoadedBytes(*candidate.plan.graph, *candidate.plan.plan));
    PLAIT_RETURN_IF_ERROR(
        CheckMemory("candidates", SaturatingAdd(bytes, kept_bytes_), executor_.device()));
    const Stopwatch load_time;
    const CandidatePlan& plan = candidate.plan;
    PLAIT_ASSIGN_OR_RETURN(
        candidate.executable,
        plan.load != nullptr ? plan.load() : executor_.Load(*plan.graph, *plan.plan, weights_));
    candidate.measurement.load_ms.push_back(load_time.elapsed_us() / 1000);
    candidate.measurement.fallback_nodes = candidate.executable->fallback_nodes();
    candidate.measurement.step_variants = candidate.executable->step_variants();
    loaded_bytes_ = bytes;
    return absl::OkStatus();
  }

  // If there is room for them and for the outputs that are kept beside them.
  // REQUIRES: the graph was loaded, which checks its types.
  absl::Status DrawInputs(const Graph& graph) {
    const int random_count = std::max(1, options_.random_inputs);
    // One more, for the outputs of the candidate that is being compared.
    const auto kept = static_cast<int64_t>(options_.given_inputs.size()) + random_count + 1;
    for (int64_t i = 0; i < kept; ++i) kept_bytes_ = SaturatingAdd(kept_bytes_, PortBytes(graph));
    PLAIT_RETURN_IF_ERROR(CheckMemory(
        "inputs and outputs", SaturatingAdd(loaded_bytes_, kept_bytes_), executor_.device()));
    for (int i = 0; i < random_count; ++i) {
      PLAIT_ASSIGN_OR_RETURN(inputs_.emplace_back(), MakeInputs(graph, options_.seed, i));
    }
    first_given_ = inputs_.size();
    // Behind the random ones, of which the first is timed. The tensors share their bytes.
    inputs_.insert(inputs_.end(), options_.given_inputs.begin(), options_.given_inputs.end());
    return absl::OkStatus();
  }

  // With the outputs of the original, which comes first and is run twice: outputs that differ from
  // run to run prove nothing.
  absl::Status CompareOutputs(MeasuredCandidate& candidate) {
    OutputComparer comparer(options_.rel_error_max);
    for (size_t i = 0; i < inputs_.size(); ++i) {
      PLAIT_RETURN_IF_ERROR(CheckNotStopped(options_));
      if (i == expected_.size()) {
        absl::StatusOr<Outputs> expected = candidate.executable->Run(inputs_[i]);
        if (!expected.ok()) return OriginalsError(expected.status(), i);
        expected_.push_back(*std::move(expected));
      }
      PLAIT_ASSIGN_OR_RETURN(const Outputs outputs, candidate.executable->Run(inputs_[i]));
      comparer.Add(expected_[i], outputs);
    }
    Equivalence& equivalence = candidate.measurement.equivalence;
    equivalence = comparer.Result().equivalence;
    const bool may_be_rounding = options_.judges_rounding &&
                                 equivalence.verdict == Verdict::kDifferent &&
                                 MayBeRounding(equivalence);
    if (!may_be_rounding) return absl::OkStatus();
    PLAIT_ASSIGN_OR_RETURN(equivalence.exact_ratio, ExactRatioOf(candidate));
    equivalence.verdict = JudgeErrors(equivalence, options_.rel_error_max);
    return absl::OkStatus();
  }

  // See Equivalence::exact_ratio. The candidate runs again: its outputs on all inputs need not be
  // kept where nobody asks for this.
  absl::StatusOr<double> ExactRatioOf(MeasuredCandidate& candidate) {
    if (!exact_) exact_.emplace(*candidates_[0].plan.graph, weights_);
    if (!exact_->AreAffordable(inputs_.size())) return 0.0;
    ExactErrors of_original;
    ExactErrors of_candidate;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      PLAIT_RETURN_IF_ERROR(CheckNotStopped(options_));
      const absl::StatusOr<const std::vector<EvalTensor>*> exact = exact_->On(i, inputs_[i]);
      if (!exact.ok()) return 0.0;  // an operator without a reference
      PLAIT_ASSIGN_OR_RETURN(const Outputs outputs, candidate.executable->Run(inputs_[i]));
      of_original.Add(**exact, expected_[i]);
      of_candidate.Add(**exact, outputs);
    }
    return ExactRatio(of_original.outputs(), of_candidate.outputs());
  }

  // An input that does not fit is the fault of whoever gave it, and not the original's.
  absl::Status OriginalsError(const absl::Status& status, size_t input) const {
    if (input < first_given_ || !absl::IsInvalidArgument(status)) return status;
    return absl::OutOfRangeError(
        absl::StrCat("input_sets[", input - first_given_,
                     "]: the model cannot run on it: ", std::string(status.message())));
  }

  // The first run of a load pages in, and the second of the original tells how long a run takes.
  absl::Status WarmUp(MeasuredCandidate& candidate) {
    PLAIT_RETURN_IF_ERROR(candidate.executable->SetInputs(inputs_[0]));
    PLAIT_ASSIGN_OR_RETURN(std::vector<double> run_us, candidate.executable->Time(1));
    // By the original for all: what is compared is taken alike.
    if (&candidate != &candidates_[0]) return absl::OkStatus();
    if (RunsOfRound(run_us[0]).timed > 1) {
      PLAIT_ASSIGN_OR_RETURN(run_us, candidate.executable->Time(1));
    }
    runs_ = RunsOfRound(run_us[0]);
    return absl::OkStatus();
  }

  absl::Status RunRounds() {
    const size_t count = candidates_.size();
    // The least ones are divided among the least loads.
    const int rounds_least = (options_.rounds_min + loads_least() - 1) / loads_least();
    const double begin_us = elapsed_us();
    const double share_us = time_max_us() / std::max(1, options_.loads);
    int rounds = 0;
    for (; rounds < std::max(options_.rounds, rounds_least); ++rounds) {
      const bool is_out_of_time =
          elapsed_us() > time_max_us() || elapsed_us() - begin_us > share_us;
      if (rounds >= rounds_least && is_out_of_time) break;
      executor_.AwaitNearThreads(options_.stop);
      for (size_t i = 0; i < count; ++i) {
        PLAIT_RETURN_IF_ERROR(CheckNotStopped(options_));
        // Every other round runs backwards: what one candidate leaves in the caches helps no other
        // twice.
        MeasuredCandidate& candidate = InTurn(rounds, i);
        if (candidate.status.ok()) candidate.status = TimeRound(candidate);
      }
    }
    rounds_ += rounds;
    for (MeasuredCandidate& candidate : candidates_) {
      candidate.measurement.load_rounds.push_back(rounds);
    }
    return absl::OkStatus();
  }

  absl::Status TimeRound(MeasuredCandidate& candidate) {
    PLAIT_RETURN_IF_ERROR(candidate.executable->Time(runs_.untimed).status());
    candidate.executable->TakeClock();
    PLAIT_ASSIGN_OR_RETURN(std::vector<double> samples, candidate.executable->Time(runs_.timed));
    AddClock(candidate.executable->TakeClock(), candidate.measurement.clock);
    candidate.measurement.latency_us.push_back(Median(std::move(samples)));
    return absl::OkStatus();
  }

  std::vector<absl::StatusOr<CandidateMeasurement>> Results() {
    std::vector<absl::StatusOr<CandidateMeasurement>> results;
    for (MeasuredCandidate& candidate : candidates_) {
      if (candidate.status.ok()) {
        results.emplace_back(std::move(candidate.measurement));
      } else {
        results.emplace_back(std::move(candidate.status));
      }
    }
    return results;
  }

  Executor& executor_;
  const WeightSource& weights_;
  const MeasureOptions& options_;
  const Stopwatch stopwatch_;
  const absl::Duration wait_allowed_ = executor_.wait_left();
  std::vector<MeasuredCandidate> candidates_;
  std::vector<std::vector<Tensor>> inputs_;  // random ones, then the given ones
  size_t first_given_ = 0;
  std::vector<Outputs> expected_;  // the original's, for each input
  std::optional<ExactOutputs> exact_;
  int64_t loaded_bytes_ = 0;  // of what is loaded now
  int64_t kept_bytes_ = 0;    // of inputs and expected outputs
  RoundRuns runs_;
  int loads_ = 0;   // so far
  int rounds_ = 0;  // so far, in all of them
};

}  // namespace

// Three candidates in four rounds run 0 1 2, 2 1 0, 0 1 2, 2 1 0. A machine that grows slower from
// round to round slows the samples of a round alike, and the ratios of a round's samples, which are
// what is judged, stay what they are.
absl::StatusOr<std::vector<absl::StatusOr<CandidateMeasurement>>> MeasurePlans(
    Executor& executor, absl::Span<const CandidatePlan> candidates, const WeightSource& weights,
    const MeasureOptions& options) {
  if (candidates.empty()) return absl::InvalidArgumentError("measure: no candidates");
  return Measurement(executor, candidates, weights, options).Run();
}

}  // namespace plait
