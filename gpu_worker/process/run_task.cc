#include "gpu_worker/process/run_task.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "gpu_worker/executor/measure_plans.h"
#include "gpu_worker/executor/profile_kernel.h"
#include "gpu_worker/process/parse_profile_key.h"
#include "optimizer/onnx/import.h"
#include "optimizer/ops/evaluation/evaluate.h"
#include "optimizer/ops/shared/op_spec.h"

namespace plait {
namespace {

// Two jobs may run at a time, each with its model.
constexpr size_t kModelsKept = 2;
constexpr int kKernelSamplesMax = 10'000;
constexpr int kRoundsMax = 10'000;
constexpr int kInputsMax = 100;

// The weights of a model; where they were stripped, seeded random ones in their place.
class TaskWeights : public WeightSource {
 public:
  explicit TaskWeights(const Model& model)
      : weights_(model.weights()), weightless_(model.weightless()) {}

  absl::StatusOr<Tensor> Get(const Digest& digest, const TensorType& type) const override {
    absl::StatusOr<Tensor> weight = weights_.Get(digest, type);
    if (weight.ok() || !weightless_ || !absl::IsNotFound(weight.status())) return weight;
    const uint64_t seed = std::strtoull(digest.sha256_hex.substr(0, 16).c_str(), nullptr, 16);
    return EvaluateConstant(*Constant::OfSynthetic(type, seed), weights_);
  }

 private:
  const ModelWeights weights_;
  const bool weightless_;
};

// A candidate of a task, parsed; `status` says why it could not be.
struct ParsedCandidate {
  absl::Status status;
  Graph graph;
  Plan plan;
};

absl::Status Parse(const worker::v1::Candidate& proto, ParsedCandidate* candidate) {
  PLAIT_ASSIGN_OR_RETURN(candidate->graph, ParseTypedGraph(proto.graph_text()));
  PLAIT_ASSIGN_OR_RETURN(candidate->plan, ParsePlan(proto.plan_text()));
  return absl::OkStatus();
}

void SetMeasurement(const PlanMeasurement& measurement, double tolerance,
                    worker::v1::CandidateResult* result) {
  if (!measurement.status.ok()) {
    result->set_error(std::string(measurement.status.message()));
    return;
  }
  for (const double sample_us : measurement.samples_us) result->add_latency_us(sample_us);
  const Equivalence& equivalence = measurement.comparison.equivalence;
  result->set_max_abs_error(equivalence.max_abs_error);
  result->set_max_rel_error(equivalence.max_rel_error);
  result->set_inputs_tried(equivalence.inputs_tried);
  result->set_dead_outputs(equivalence.verdict == Verdict::kInconclusive);
  result->set_fallback_nodes(measurement.fallback_nodes);
  // A difference that is no number, such as a NaN on one side, is beyond every tolerance.
  if (equivalence.verdict == Verdict::kDifferent && !(equivalence.max_rel_error > tolerance)) {
    result->set_max_rel_error(std::numeric_limits<double>::infinity());
  }
}

void SetError(const absl::Status& status, worker::v1::TaskResult* result) {
  result->mutable_error()->set_code(static_cast<int>(status.code()));
  result->mutable_error()->set_message(std::string(status.message()));
}

}  // namespace

worker::v1::TaskResult TaskRunner::Run(const worker::v1::Task& task) {
  worker::v1::TaskResult result;
  if (task.has_profile()) {
    *result.mutable_profile() = Profile(task.profile());
  } else if (task.has_measure()) {
    absl::StatusOr<worker::v1::MeasureResult> measured = Measure(task);
    if (measured.ok()) {
      *result.mutable_measure() = *std::move(measured);
    } else {
      SetError(measured.status(), &result);
    }
  } else {
    SetError(absl::UnimplementedError("the task is of a kind that this worker does not know"),
             &result);
  }
  return result;
}

worker::v1::ProfileResult TaskRunner::Profile(const worker::v1::ProfileTask& task) {
  ProfileOptions timing;
  timing.samples_max = std::clamp(task.samples_min(), 1, kKernelSamplesMax);
  if (task.seconds_max() > 0) timing.time_max = absl::Seconds(task.seconds_max());
  worker::v1::ProfileResult result;
  for (const worker::v1::KernelRequest& request : task.kernels()) {
    worker::v1::KernelProfile& answer = *result.add_profiles();
    answer.set_key(request.key());
    const absl::StatusOr<ProfileKey> key = ParseProfileKey(request.key());
    if (!key.ok()) {
      answer.set_error(std::string(key.status().message()));
      continue;
    }
    const KernelProfile measured = ProfileKernel(&executor_, *key, timing);
    if (measured.profile.samples == 0) {
      answer.set_error(measured.error);
      continue;
    }
    v1::Profile& profile = *answer.mutable_profile();
    profile.set_latency_us_median(measured.profile.latency_us_median);
    profile.set_latency_us_p10(measured.profile.latency_us_p10);
    profile.set_latency_us_mad(measured.profile.latency_us_mad);
    profile.set_samples(measured.profile.samples);
    profile.set_compute_share(measured.profile.compute_share);
    profile.set_bytes(measured.profile.bytes);
    profile.set_flops(measured.profile.flops);
  }
  return result;
}

absl::StatusOr<worker::v1::MeasureResult> TaskRunner::Measure(const worker::v1::Task& task) {
  const worker::v1::MeasureTask& work = task.measure();
  if (work.candidates().empty()) return absl::InvalidArgumentError("measure: no candidates");
  PLAIT_ASSIGN_OR_RETURN(const Model model, FindModel(task.model()));
  const TaskWeights weights(model);

  std::vector<ParsedCandidate> parsed(static_cast<size_t>(work.candidates_size()));
  std::vector<CandidatePlan> candidates;
  for (int i = 0; i < work.candidates_size(); ++i) {
    parsed[i].status = Parse(work.candidates(i), &parsed[i]);
    if (i == 0) PLAIT_RETURN_IF_ERROR(parsed[i].status);
    if (parsed[i].status.ok()) candidates.push_back({&parsed[i].graph, &parsed[i].plan});
  }
  MeasureOptions measuring;
  measuring.rounds = std::clamp(work.rounds(), 1, kRoundsMax);
  if (work.seconds_max() > 0) measuring.time_max = absl::Seconds(work.seconds_max());
  measuring.inputs_tried = std::clamp(work.inputs_count(), 1, kInputsMax);
  measuring.rel_error_max = work.tolerance();
  measuring.seed = work.seed();
  PLAIT_ASSIGN_OR_RETURN(const std::vector<PlanMeasurement> measurements,
                         MeasurePlans(&executor_, candidates, weights, measuring));
  worker::v1::MeasureResult result;
  size_t next = 0;
  for (int i = 0; i < work.candidates_size(); ++i) {
    worker::v1::CandidateResult& answer = *result.add_candidates();
    answer.set_id(work.candidates(i).id());
    if (parsed[i].status.ok()) {
      SetMeasurement(measurements[next++], work.tolerance(), &answer);
    } else {
      answer.set_error(std::string(parsed[i].status.message()));
    }
  }
  return result;
}

absl::StatusOr<Model> TaskRunner::FindModel(const v1::Digest& digest) {
  const auto found = std::find_if(models_.begin(), models_.end(), [&](const auto& entry) {
    return entry.first == digest.sha256_hex();
  });
  if (found != models_.end()) {
    models_.splice(models_.begin(), models_, found);
    return models_.front().second;
  }
  PLAIT_ASSIGN_OR_RETURN(const std::string bytes, fetch_(digest));
  PLAIT_ASSIGN_OR_RETURN(Model model, ImportOnnx(bytes));
  models_.emplace_front(digest.sha256_hex(), model);
  if (models_.size() > kModelsKept) models_.pop_back();
  return model;
}

}  // namespace plait
