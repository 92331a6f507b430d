#include "server/search_child/device.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "optimizer/ir/text.h"
#include "proto/wire/error.h"
#include "proto/wire/measurement.h"

namespace plait {
namespace {

// 16 kernels: about a second of measuring, so that workers stay responsive to their supervisor.
constexpr size_t kKernelsPerTask = 16;
// 20, in two visits: a median that one busy moment of the machine does not move.
constexpr int kKernelSamples = 20;
// 40 ms: a kernel of 2 ms gets its 20 samples; a slower one is less noisy and gets fewer.
constexpr double kKernelSecondsMax = 0.04;
// As much as the message of a job can have.
constexpr size_t kFailuresKept = 3;
constexpr size_t kFailureBytesMax = 200;

absl::Status CheckCount(absl::string_view what, int got, size_t wanted) {
  if (got == static_cast<int>(wanted)) return absl::OkStatus();
  return absl::InternalError(
      absl::StrCat("the worker answered about ", got, " of ", wanted, " ", what));
}

// A worker of before does not know the inputs that a job gives, and would leave them out.
absl::Status CheckCompared(const worker::v1::MeasureResult& result, int inputs) {
  for (const worker::v1::CandidateMeasurement& candidate : result.candidates()) {
    if (!candidate.error().empty() || candidate.inputs_tried() >= inputs) continue;
    return wire::Error(v1::ERROR_REASON_DEVICE_UNAVAILABLE,
                       absl::StrCat("the worker compared outputs on ", candidate.inputs_tried(),
                                    " of ", inputs, " inputs (run the server's build of it)"));
  }
  return absl::OkStatus();
}

// A plan names tensors by number, so the text of its graph must keep the numbers.
absl::Status CheckWritten(const PlanCandidate& candidate) {
  const absl::Status made = CheckPlan(candidate.plan, candidate.graph);
  if (!made.ok())
    return absl::InternalError(absl::StrCat("the search made a wrong ", made.message()));
  PLAIT_ASSIGN_OR_RETURN(const Graph read, ParseGraph(PrintGraph(candidate.graph)));
  const absl::Status written = CheckPlan(candidate.plan, read);
  if (written.ok()) return absl::OkStatus();
  return absl::InternalError(
      absl::StrCat("the text of a graph does not keep its numbers: ", written.message()));
}

// The candidate as a task carries it.
absl::StatusOr<worker::v1::Candidate> CandidateToProto(const PlanCandidate& candidate) {
  PLAIT_RETURN_IF_ERROR(CheckWritten(candidate));
  worker::v1::Candidate proto;
  proto.set_id(candidate.id);
  proto.set_graph_text(PrintGraph(candidate.graph));
  proto.set_plan_text(PrintPlan(candidate.plan));
  return proto;
}

}  // namespace

absl::StatusOr<std::vector<Profile>> RemoteProfiler::Measure(
    absl::Span<const ProfileRequest> requests) {
  // Errors count as well: the time has passed.
  const ElapsedSum sum(clock_, elapsed_);
  std::vector<Profile> profiles;
  for (size_t i = 0; i < requests.size(); i += kKernelsPerTask) {
    PLAIT_RETURN_IF_ERROR(MeasureBatch(requests.subspan(i, kKernelsPerTask), profiles));
  }
  return profiles;
}

absl::StatusOr<Yardsticks> RemoteProfiler::ReadYardsticks() {
  const ElapsedSum sum(clock_, elapsed_);
  PLAIT_ASSIGN_OR_RETURN(const worker::v1::TaskResult result, connection_.Profile({}));
  return wire::YardsticksFromProto(result.profile().yardsticks());
}

absl::Status RemoteProfiler::MeasureBatch(absl::Span<const ProfileRequest> requests,
                                          std::vector<Profile>& profiles) {
  worker::v1::ProfileTask task;
  task.set_samples_min(kKernelSamples);
  task.set_seconds_max(kKernelSecondsMax);
  for (const ProfileRequest& request : requests) {
    *task.add_kernels() = wire::KernelRequestToProto(request.key);
  }
  PLAIT_ASSIGN_OR_RETURN(const worker::v1::TaskResult result, connection_.Profile(task));
  PLAIT_RETURN_IF_ERROR(CheckCount("kernels", result.profile().profiles_size(), requests.size()));
  for (size_t i = 0; i < requests.size(); ++i) {
    const worker::v1::KernelProfile& profile = result.profile().profiles(static_cast<int>(i));
    // No profile, or one that a search must not trust: the kernel cannot run, which a profile
    // without samples says.
    const absl::StatusOr<Profile> believed = wire::ProfileFromProto(profile.profile());
    profiles.push_back(profile.has_profile() && believed.ok() ? *believed : Profile());
    if (!profile.error().empty() && failures_.size() < kFailuresKept) {
      const ProfileKey& key = requests[i].key;
      failures_.push_back(absl::StrCat(key.family, " ", key.variant, ": ",
                                       wire::ValidUtf8(profile.error(), kFailureBytesMax)));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<CandidateMeasurement>> RemoteVerifier::Verify(
    absl::Span<const PlanCandidate> candidates, const VerificationBatch& batch) {
  const ElapsedSum sum(clock_, elapsed_);
  worker::v1::MeasureTask task;
  task.set_loads(batch.loads);
  task.set_rounds(batch.rounds);
  task.set_rounds_min(batch.rounds_min);
  task.set_seconds_max(batch.seconds_max);
  task.set_seed(options_.seed);
  task.set_inputs_count(batch.random_inputs);
  task.set_tolerance(options_.tolerance);
  task.set_judges_rounding(options_.judges_rounding);
  if (batch.has_given_inputs) {
    *task.mutable_input_sets() = InputSetsFor(candidates.front().graph, options_.input_sets);
  }
  const int inputs = task.inputs_count() + task.input_sets_size();
  for (const PlanCandidate& candidate : candidates) {
    PLAIT_ASSIGN_OR_RETURN(*task.add_candidates(), CandidateToProto(candidate));
  }
  PLAIT_ASSIGN_OR_RETURN(const worker::v1::TaskResult result, connection_.Measure(std::move(task)));
  PLAIT_RETURN_IF_ERROR(
      CheckCount("candidates", result.measure().candidates_size(), candidates.size()));
  PLAIT_RETURN_IF_ERROR(CheckCompared(result.measure(), inputs));
  std::vector<CandidateMeasurement> measurements;
  for (const worker::v1::CandidateMeasurement& candidate : result.measure().candidates()) {
    measurements.push_back(wire::CandidateMeasurementFromProto(candidate, options_.tolerance));
  }
  return measurements;
}

absl::StatusOr<std::vector<LayerError>> RemoteVerifier::MeasureErrors(
    const PlanCandidate& candidate, absl::Span<const int> steps) {
  const ElapsedSum sum(clock_, elapsed_);
  worker::v1::MeasureTask task;
  task.set_errors_only(true);
  task.set_seed(options_.seed);
  *task.mutable_input_sets() = InputSetsFor(candidate.graph, options_.input_sets);
  worker::v1::Candidate& asked = *task.add_candidates();
  PLAIT_ASSIGN_OR_RETURN(asked, CandidateToProto(candidate));
  asked.mutable_error_steps()->Add(steps.begin(), steps.end());
  PLAIT_ASSIGN_OR_RETURN(const worker::v1::TaskResult result, connection_.Measure(std::move(task)));
  PLAIT_RETURN_IF_ERROR(CheckCount("candidates", result.measure().candidates_size(), 1));
  const CandidateMeasurement measurement =
      wire::CandidateMeasurementFromProto(result.measure().candidates(0), options_.tolerance);
  if (!measurement.error.empty() || measurement.step_errors.empty()) {
    return std::vector<LayerError>();
  }
  PLAIT_RETURN_IF_ERROR(
      CheckCount("steps", static_cast<int>(measurement.step_errors.size()), steps.size()));
  return measurement.step_errors;
}

absl::StatusOr<std::vector<std::vector<double>>> RemoteVerifier::TimeSteps(
    absl::Span<const PlanCandidate> candidates, const RehearsalBatch& batch) {
  const ElapsedSum sum(clock_, elapsed_);
  worker::v1::MeasureTask task;
  task.set_step_times_only(true);
  task.set_rounds(batch.rounds);
  task.set_rounds_min(batch.rounds_min);
  task.set_seconds_max(batch.seconds_max);
  task.set_seed(options_.seed);
  for (const PlanCandidate& candidate : candidates) {
    PLAIT_ASSIGN_OR_RETURN(*task.add_candidates(), CandidateToProto(candidate));
  }
  PLAIT_ASSIGN_OR_RETURN(const worker::v1::TaskResult result, connection_.Measure(std::move(task)));
  PLAIT_RETURN_IF_ERROR(
      CheckCount("candidates", result.measure().candidates_size(), candidates.size()));
  std::vector<std::vector<double>> step_us;
  for (size_t i = 0; i < candidates.size(); ++i) {
    CandidateMeasurement measurement = wire::CandidateMeasurementFromProto(
        result.measure().candidates(static_cast<int>(i)), options_.tolerance);
    const size_t steps = candidates[i].plan.steps.size();
    if (!measurement.error.empty()) measurement.step_us.clear();
    if (!measurement.step_us.empty()) {
      PLAIT_RETURN_IF_ERROR(
          CheckCount("steps", static_cast<int>(measurement.step_us.size()), steps));
    }
    step_us.push_back(std::move(measurement.step_us));
  }
  return step_us;
}

}  // namespace plait
