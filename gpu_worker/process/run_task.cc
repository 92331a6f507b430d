#include "gpu_worker/process/run_task.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/peak_memory.h"
#include "base/status_macros.h"
#include "gpu_worker/executor/measure_errors.h"
#include "gpu_worker/executor/measure_plans.h"
#include "gpu_worker/executor/profile_batch.h"
#include "gpu_worker/executor/settled_yardsticks.h"
#include "gpu_worker/executor/time_steps.h"
#include "optimizer/ops/shared/op_spec.h"
#include "proto/wire/measurement.h"
#include "proto/wire/profile.h"

namespace plait {
namespace {

// Two jobs may run at a time, each with its model and the table of its weights.
constexpr size_t kModelsKept = 2;
// A task comes from the server, but its numbers may be a child's: beyond these a worker would be
// busy for hours.
constexpr int kLoadsMax = 100;
constexpr int kRoundsMax = 10'000;
constexpr int kInputsMax = 100;
constexpr double kWaitSecondsMax = 60;

// What is no number or negative is none.
absl::Duration WaitMax(double seconds) {
  return seconds > 0 ? absl::Seconds(std::min(seconds, kWaitSecondsMax)) : absl::ZeroDuration();
}

// A candidate of a task, parsed; `status` says why it could not be.
struct ParsedCandidate {
  absl::Status status;
  Graph graph;
  Plan plan;
};

// Graph and plan are texts that the search child wrote: whether they fit each other and the device
// is checked when they are loaded.
absl::Status Parse(const worker::v1::Candidate& proto, ParsedCandidate& candidate) {
  PLAIT_ASSIGN_OR_RETURN(candidate.graph, ParseTypedGraph(proto.graph_text()));
  PLAIT_ASSIGN_OR_RETURN(candidate.plan, ParsePlan(proto.plan_text()));
  return absl::OkStatus();
}

// Those that can be parsed, which stay where `parsed` has them.
std::vector<CandidatePlan> ParseAll(const worker::v1::MeasureTask& work,
                                    std::vector<ParsedCandidate>& parsed) {
  parsed.resize(static_cast<size_t>(work.candidates_size()));
  std::vector<CandidatePlan> candidates;
  for (int i = 0; i < work.candidates_size(); ++i) {
    parsed[i].status = Parse(work.candidates(i), parsed[i]);
    if (parsed[i].status.ok()) candidates.push_back({&parsed[i].graph, &parsed[i].plan});
  }
  return candidates;
}

absl::StatusOr<LoneKernel> LoneKernelOf(const worker::v1::KernelRequest& request) {
  Kernel chosen;
  chosen.family = request.family();
  chosen.variant = request.variant();
  chosen.width = request.width();
  const std::vector<absl::string_view> formats(request.formats().begin(), request.formats().end());
  return MakeLoneKernel(request.graph_text(), std::move(chosen), formats, request.cold_weights());
}

// Never empty: an empty error says that there was none.
std::string ErrorText(const absl::Status& status) {
  return status.message().empty() ? status.ToString() : std::string(status.message());
}

// An answer for each candidate: what was measured of those that could be parsed, which `take`
// writes into a CandidateMeasurement, or why nothing was.
template <typename Measured, typename Take>
worker::v1::MeasureResult ResultOf(const worker::v1::MeasureTask& work,
                                   absl::Span<const ParsedCandidate> parsed,
                                   absl::Span<const absl::StatusOr<Measured>> measured,
                                   const Take& take) {
  worker::v1::MeasureResult result;
  size_t next = 0;
  for (int i = 0; i < work.candidates_size(); ++i) {
    absl::Status status = parsed[i].status;
    CandidateMeasurement measurement;
    if (status.ok()) {
      const absl::StatusOr<Measured>& one = measured[next++];
      status = one.status();
      if (one.ok()) take(*one, measurement);
    }
    if (!status.ok()) measurement.error = ErrorText(status);
    measurement.candidate = work.candidates(i).id();
    *result.add_candidates() = wire::CandidateMeasurementToProto(measurement);
  }
  return result;
}

void SetError(const absl::Status& status, worker::v1::TaskResult& result) {
  result.mutable_error()->set_code(static_cast<int>(status.code()));
  result.mutable_error()->set_message(std::string(status.message()));
}

}  // namespace

worker::v1::TaskResult TaskRunner::Run(const worker::v1::Task& task, std::stop_token stop) {
  worker::v1::TaskResult result;
  ResetPeakMemory();
  const absl::Duration wait_max = WaitMax(task.has_profile() ? task.profile().wait_seconds_max()
                                                             : task.measure().wait_seconds_max());
  executor_.AllowWaits(wait_max);
  if (task.has_profile()) {
    absl::StatusOr<worker::v1::ProfileResult> profiled = Profile(task.profile(), stop);
    if (profiled.ok()) {
      *result.mutable_profile() = *std::move(profiled);
    } else {
      SetError(profiled.status(), result);
    }
  } else if (task.has_measure()) {
    absl::StatusOr<worker::v1::MeasureResult> measured = Measure(task, stop);
    if (measured.ok()) {
      *result.mutable_measure() = *std::move(measured);
    } else {
      SetError(measured.status(), result);
    }
  } else {
    SetError(absl::UnimplementedError("the task is of a kind that this worker does not know"),
             result);
  }
  result.set_waited_seconds(absl::ToDoubleSeconds(wait_max - executor_.wait_left()));
  result.set_peak_memory_bytes(PeakMemoryBytes());
  return result;
}

// The device may have changed under the same worker id, by a driver or fewer cores, since the task
// was made.
absl::StatusOr<worker::v1::ProfileResult> TaskRunner::Profile(const worker::v1::ProfileTask& task,
                                                              const std::stop_token& stop) {
  const std::string& fingerprint = executor_.device().fingerprint;
  if (task.device_fingerprint() != fingerprint) {
    return absl::FailedPreconditionError(absl::StrCat("profile: for device \"",
                                                      absl::CHexEscape(task.device_fingerprint()),
                                                      "\", this is \"", fingerprint, "\""));
  }
  ProfileOptions options;
  options.samples_max = std::clamp(task.samples_min(), 1, wire::kProfileSamplesMax);
  if (task.seconds_max() > 0) options.time_max = absl::Seconds(task.seconds_max());
  for (const worker::v1::KernelRequest& request : task.kernels()) {
    PLAIT_RETURN_IF_ERROR(CheckVersion(request));
  }
  worker::v1::ProfileResult result;
  std::vector<LoneKernel> kernels;
  std::vector<worker::v1::KernelProfile*> answers;
  for (const worker::v1::KernelRequest& request : task.kernels()) {
    worker::v1::KernelProfile& answer = *result.add_profiles();
    answer.set_key(request.key());
    absl::StatusOr<LoneKernel> lone = LoneKernelOf(request);
    if (!lone.ok()) {
      answer.set_error(std::string(lone.status().message()));
      continue;
    }
    kernels.push_back(*std::move(lone));
    answers.push_back(&answer);
  }
  PLAIT_ASSIGN_OR_RETURN(const std::vector<KernelProfile> measured,
                         ProfileKernels(executor_, kernels, options, stop));
  for (size_t i = 0; i < measured.size(); ++i) {
    answers[i]->set_error(measured[i].error);
    if (measured[i].profile.samples == 0) continue;
    *answers[i]->mutable_profile() = wire::ProfileToProto(measured[i].profile);
  }
  if (task.kernels().empty()) {
    *result.mutable_yardsticks() = wire::YardsticksToProto(ReadSettledYardsticks(executor_, stop));
  }
  return result;
}

absl::Status TaskRunner::CheckVersion(const worker::v1::KernelRequest& request) const {
  if (!family_version_) return absl::OkStatus();
  const std::string version = family_version_(request.family());
  // A family that is not here at all is refused by name when the kernel is loaded.
  if (version.empty() || version == request.version()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "kernel family ", request.family(), ": version \"", absl::CHexEscape(request.version()),
      "\" is asked for, this worker has \"", version, "\" (run the server's build of the worker)"));
}

absl::StatusOr<worker::v1::MeasureResult> TaskRunner::Measure(const worker::v1::Task& task,
                                                              const std::stop_token& stop) {
  const worker::v1::MeasureTask& work = task.measure();
  if (work.candidates().empty()) return absl::InvalidArgumentError("measure: no candidates");
  PLAIT_ASSIGN_OR_RETURN(const std::shared_ptr<const TaskWeights> weights, FindWeights(task));
  if (work.errors_only()) return MeasureStepErrors(work, *weights, stop);
  if (work.step_times_only()) return MeasureStepTimes(work, *weights, stop);

  std::vector<ParsedCandidate> parsed;
  const std::vector<CandidatePlan> candidates = ParseAll(work, parsed);
  // Without the baseline there is nothing to compare with.
  PLAIT_RETURN_IF_ERROR(parsed[0].status);
  MeasureOptions options;
  options.loads = std::clamp(work.loads(), 1, kLoadsMax);
  options.rounds = std::clamp(work.rounds(), 1, kRoundsMax);
  options.rounds_min = std::clamp(work.rounds_min(), 1, kRoundsMax);
  if (work.seconds_max() > 0) options.time_max = absl::Seconds(work.seconds_max());
  options.random_inputs = std::clamp(work.inputs_count(), 1, kInputsMax);
  options.rel_error_max = work.tolerance();
  options.judges_rounding = work.judges_rounding();
  options.seed = work.seed();
  PLAIT_ASSIGN_OR_RETURN(options.given_inputs, inputs_.Read(work.input_sets(), parsed[0].graph));
  options.stop = stop;
  PLAIT_ASSIGN_OR_RETURN(const auto measurements,
                         MeasurePlans(executor_, candidates, *weights, options));
  return ResultOf<CandidateMeasurement>(
      work, parsed, measurements,
      [](const CandidateMeasurement& one, CandidateMeasurement& to) { to = one; });
}

absl::StatusOr<worker::v1::MeasureResult> TaskRunner::MeasureStepTimes(
    const worker::v1::MeasureTask& work, const WeightSource& weights, const std::stop_token& stop) {
  std::vector<ParsedCandidate> parsed;
  const std::vector<CandidatePlan> candidates = ParseAll(work, parsed);
  StepTimesOptions options;
  options.rounds = std::clamp(work.rounds(), 1, kRoundsMax);
  options.rounds_min = std::clamp(work.rounds_min(), 1, kRoundsMax);
  if (work.seconds_max() > 0) options.time_max = absl::Seconds(work.seconds_max());
  options.seed = work.seed();
  options.stop = stop;
  PLAIT_ASSIGN_OR_RETURN(const auto timed, TimeSteps(executor_, candidates, weights, options));
  return ResultOf<std::vector<double>>(
      work, parsed, timed,
      [](const std::vector<double>& step_us, CandidateMeasurement& to) { to.step_us = step_us; });
}

absl::StatusOr<worker::v1::MeasureResult> TaskRunner::MeasureStepErrors(
    const worker::v1::MeasureTask& work, const WeightSource& weights, const std::stop_token& stop) {
  worker::v1::MeasureResult result;
  for (const worker::v1::Candidate& candidate : work.candidates()) {
    CandidateMeasurement measurement;
    measurement.candidate = candidate.id();
    absl::StatusOr<std::vector<LayerError>> errors = StepErrorsOf(candidate, work, weights, stop);
    if (errors.ok()) {
      measurement.step_errors = *std::move(errors);
    } else if (absl::IsCancelled(errors.status())) {
      return errors.status();
    } else {
      measurement.error = ErrorText(errors.status());
    }
    *result.add_candidates() = wire::CandidateMeasurementToProto(measurement);
  }
  return result;
}

absl::StatusOr<std::vector<LayerError>> TaskRunner::StepErrorsOf(
    const worker::v1::Candidate& candidate, const worker::v1::MeasureTask& work,
    const WeightSource& weights, const std::stop_token& stop) {
  ParsedCandidate parsed;
  PLAIT_RETURN_IF_ERROR(Parse(candidate, parsed));
  ErrorOptions options;
  options.seed = work.seed();
  options.stop = stop;
  PLAIT_ASSIGN_OR_RETURN(options.given_inputs, inputs_.Read(work.input_sets(), parsed.graph));
  const std::vector<int> steps(candidate.error_steps().begin(), candidate.error_steps().end());
  return MeasureErrors(executor_, {&parsed.graph, &parsed.plan}, steps, weights, options);
}

// The last used ones are in front and those behind go, so that the tasks of two jobs in turn fetch
// nothing.
absl::StatusOr<std::shared_ptr<const TaskWeights>> TaskRunner::FindWeights(
    const worker::v1::Task& task) {
  if (!task.has_weights()) return std::make_shared<const TaskWeights>();
  const std::string key = absl::StrCat(task.model().sha256_hex(), " ", task.weights().sha256_hex());
  const auto found = std::find_if(weights_.begin(), weights_.end(),
                                  [&](const auto& entry) { return entry.first == key; });
  if (found != weights_.end()) {
    weights_.splice(weights_.begin(), weights_, found);
    return weights_.front().second;
  }
  PLAIT_ASSIGN_OR_RETURN(auto table, fetch_(task.weights()));
  PLAIT_ASSIGN_OR_RETURN(auto model, fetch_(task.model()));
  PLAIT_ASSIGN_OR_RETURN(auto weights, TaskWeights::Create(std::move(model), std::move(table)));
  weights_.emplace_front(key, weights);
  if (weights_.size() > kModelsKept) weights_.pop_back();
  return weights;
}

}  // namespace plait
