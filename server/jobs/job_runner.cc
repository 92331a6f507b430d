#include "server/jobs/job_runner.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/limits.h"
#include "base/machine_cores.h"
#include "base/status_macros.h"
#include "proto/wire/device.h"
#include "proto/wire/digest.h"
#include "proto/wire/error.h"
#include "proto/wire/job_state.h"
#include "proto/wire/names.h"
#include "proto/wire/options.h"
#include "proto/wire/plan_options.h"
#include "server/jobs/job_artifacts.h"
#include "server/search_child/protocol/descriptors.h"
#include "server/telemetry/log.h"
#include "storage/blob_bytes.h"
#include "storage/job_operations.h"

namespace plait {
namespace {

// Runs of a job that end with workers lost at its tasks: each has cost kAttemptsMax of them.
constexpr int kRunsLosingWorkersMax = 2;

// In the park for as long as its conversation goes on. Afterwards a child that was stopped stays
// so, and is killed when RunJob is done with its output.
class ParkedChild {
 public:
  ParkedChild(SearchPark& park, pid_t child) : park_(park), child_(child) { park_.Add(child_); }
  ~ParkedChild() { park_.Remove(child_); }
  ParkedChild(const ParkedChild&) = delete;
  ParkedChild& operator=(const ParkedChild&) = delete;

 private:
  SearchPark& park_;
  const pid_t child_;
};

// Of address space. Searches of published models, of up to 1.3 GB, took four times the model and
// 0.25 GiB; a device's profiles, and graphs of many nodes, take more of the latter.
constexpr int64_t kChildModelsMax = 4;
constexpr int64_t kChildBytesMax = int64_t{2} << 30;
// A stack, and an arena of the allocator with what it reserves.
constexpr int64_t kChildThreadBytesMax = int64_t{128} << 20;

int64_t SearchMemoryBytes(int64_t model_bytes, int threads) {
  return kChildModelsMax * model_bytes + kChildBytesMax + kChildThreadBytesMax * threads;
}

// Why a run could not go on that nobody but this server is to blame for. All reasons but that of
// the storage would seem to be about the job.
v1::ErrorDetail OwnFault(const absl::Status& status) {
  v1::ErrorDetail error = wire::ErrorDetailOf(status);
  if (error.reason() != v1::ERROR_REASON_STORAGE_UNAVAILABLE) {
    error.set_reason(v1::ERROR_REASON_INTERNAL);
  }
  return error;
}

}  // namespace

void JobRunner::RunJob(const LeasedJob& job, std::shared_ptr<Wakeup> wakeup,
                       const std::atomic<bool>& stopping) {
  const absl::Duration began = context_.clock.Monotonic();
  LogInfo("job.started", {{"job", job.job.id()},
                          {"tenant", job.job.tenant()},
                          {"attempt", absl::StrCat(job.lease.attempt)}});
  // Whatever Run returns, nothing of the job lives on in this process: child, questions and files
  // are gone.
  const absl::StatusOr<v1::Job> ended = Run(job, std::move(wakeup), stopping);
  if (!ended.ok()) {
    LogError("job.postponed", {{"job", job.job.id()}, {"error", ended.status().ToString()}});
    // Without the storage this fails, too, and the job is recovered when its lease has run out.
    context_.stores.jobs->Postpone(job.lease, OwnFault(ended.status())).status().IgnoreError();
    return;
  }
  const std::string state = wire::JobStateName(ended->state());
  LogInfo("job.ended",
          {{"job", job.job.id()}, {"state", state}, {"error", ended->error().message()}});
  if (wire::IsFinal(ended->state())) {
    context_.metrics.JobEnded(state, context_.clock.Monotonic() - began);
  }
}

absl::StatusOr<v1::Job> JobRunner::Run(const LeasedJob& job, std::shared_ptr<Wakeup> wakeup,
                                       const std::atomic<bool>& stopping) {
  JobStore& jobs = *context_.stores.jobs;
  PLAIT_ASSIGN_OR_RETURN(JobSpec spec, ReadJobSpec(job));
  const std::optional<JobDevices> devices = FindDevices(job.job.options());
  // The worker has gone since the job was taken: it waits for the next one.
  if (!devices) return jobs.Release(job.lease);
  const absl::StatusOr<std::vector<v1::Device>> runtimes = FindRuntimes(job.job.options());
  if (!runtimes.ok()) return FinishWithError(job, v1::JOB_STATE_FAILED, runtimes.status());
  const internal::Start start = MakeStart(spec, *devices, *runtimes);
  if (start.device().predicted() && !spec.measurement_log) {
    PLAIT_ASSIGN_OR_RETURN(spec.recorded, ProfilesOf(start.device().fingerprint()));
  }
  if (!job.job.options().no_result_cache()) {
    PLAIT_ASSIGN_OR_RETURN(const std::optional<v1::Job> earlier,
                           jobs.FindResult(KeyOf(start, spec)));
    if (earlier) {
      PLAIT_ASSIGN_OR_RETURN(const bool is_there, HasAllBlobs(*earlier));
      if (is_there) return FinishFromCache(job, *earlier);
    }
  }
  absl::StatusOr<FileDescriptor> model = context_.stores.blobs->Open(spec.model);
  if (wire::ReasonOf(model.status()) == v1::ERROR_REASON_STORAGE_UNAVAILABLE) {
    return model.status();
  }
  // It is not there any more, or damaged: the next run would not find it either.
  if (!model.ok()) return FinishWithError(job, v1::JOB_STATE_FAILED, model.status());
  // Before the child, which inherits it; a crash of the daemon leaves no file behind.
  PLAIT_ASSIGN_OR_RETURN(const FileDescriptor output, OpenOutputFile(options_.data_directory));
  PLAIT_ASSIGN_OR_RETURN(const FileDescriptor weights, OpenOutputFile(options_.data_directory));
  PLAIT_ASSIGN_OR_RETURN(const FileDescriptor models, OpenOutputFile(options_.data_directory));

  const absl::Duration time_max = spec.budget_max + options_.grace;
  const int cores = MachineCores();
  SearchChildOptions child_options = options_.child;
  if (child_options.limits.memory_bytes_max == 0) {
    child_options.limits.memory_bytes_max = SearchMemoryBytes(
        spec.model.size_bytes, options_.search_threads > 0 ? options_.search_threads : cores);
  }
  child_options.limits.cpu_seconds_max = absl::ToInt64Seconds(time_max) * cores;
  child_options.limits.output_bytes_max = kModelBytesMax;
  PLAIT_ASSIGN_OR_RETURN(
      const std::unique_ptr<SearchChildProcess> child,
      SearchChildProcess::Start(
          child_options, {model->number(), output.number(), weights.number(), models.number()}));
  {
    // A hundred megabytes, of which nothing is kept here while the job runs.
    PLAIT_ASSIGN_OR_RETURN(const internal::ParentMessage first, FirstMessage(spec, start));
    const absl::Status sent = child->Send(first);
    if (!sent.ok()) return FinishWithError(job, v1::JOB_STATE_FAILED, sent);
  }
  ConversationEnd end;
  {
    const ParkedChild parked(context_.park, child->process_id());
    JobWeights job_weights(*context_.stores.blobs, weights.number());
    JobModels job_models(*context_.stores.blobs, models.number(), *runtimes);
    JobConversation conversation({jobs, *context_.stores.profiles, context_.pool, context_.park,
                                  context_.clock, context_.runtimes},
                                 job, devices->working, {job_weights, job_models},
                                 std::move(wakeup));
    // The one place where time passes.
    end = conversation.Run(*child, {time_max, options_.lease, options_.task_time_max, &stopping});
  }
  // The child may still live here: what it has written up to now is what counts.
  return Finish(spec, start, end, output.number());
}

absl::StatusOr<v1::Job> JobRunner::Finish(const JobSpec& spec, const internal::Start& start,
                                          const ConversationEnd& end, int output) {
  const LeasedJob& job = spec.leased;
  JobStore& jobs = *context_.stores.jobs;
  switch (end.outcome) {
    case ConversationOutcome::kResult:
      return FinishWithResult(spec, start, *end.result, output);
    case ConversationOutcome::kFailure:
      return FinishWithError(job, v1::JOB_STATE_FAILED, end.status);
    case ConversationOutcome::kCancelled:
      return FinishWithError(
          job, v1::JOB_STATE_CANCELLED,
          wire::Error(v1::ERROR_REASON_CANCELLED, "the client cancelled the job"));
    case ConversationOutcome::kDeadline: {
      // The incumbent was verified like a result, but a job that needs more time than it asked for
      // has failed: scripts must not take the one for the other.
      JobEnd job_end;
      job_end.state = v1::JOB_STATE_FAILED;
      job_end.error = wire::ErrorDetailOf(wire::Error(
          v1::ERROR_REASON_DEADLINE, "the job took longer than its budget allows (raise it)"));
      if (end.result) {
        absl::StatusOr<v1::JobResult> incumbent =
            StoreArtifacts(context_.stores, job.job, start, *end.result, output);
        // What the child did not write, or changes, is none. Where the storage failed, a later run
        // finds it again.
        if (incumbent.ok()) {
          job_end.incumbent = *std::move(incumbent);
        } else if (!absl::IsInvalidArgument(incumbent.status())) {
          return incumbent.status();
        }
      }
      return jobs.Finish(job.lease, job_end);
    }
    case ConversationOutcome::kLimit:
      context_.metrics.ChildCrashed("limit");
      // Not counted as a fault: another attempt would meet the same limit.
      return FinishWithError(job, v1::JOB_STATE_FAILED,
                             wire::WithReason(end.status, v1::ERROR_REASON_LIMIT_EXCEEDED));
    case ConversationOutcome::kFault:
      context_.metrics.ChildCrashed(absl::IsInvalidArgument(end.status) ? "protocol" : "crash");
      LogWarning("child.crashed", {{"job", job.job.id()}, {"error", end.status.ToString()}});
      return jobs.ReportFault(job.lease, {std::string(end.status.message())});
    case ConversationOutcome::kWorkersLost:
      LogWarning("job.workers_lost", {{"job", job.job.id()}, {"error", end.status.ToString()}});
      return jobs.ReportFault(job.lease, {.evidence = std::string(end.status.message()),
                                          .what = "the job's tasks ended their workers",
                                          .faults_max = kRunsLosingWorkersMax});
    case ConversationOutcome::kStorage:
      return end.status;
    case ConversationOutcome::kStopped:
      return jobs.Release(job.lease);
    case ConversationOutcome::kLeaseLost:
      return jobs.Get(job.job.tenant(), job.job.id());
  }
  return absl::InternalError("unknown outcome");
}

absl::StatusOr<v1::Job> JobRunner::FinishWithResult(const JobSpec& spec,
                                                    const internal::Start& start,
                                                    const internal::Result& result, int output) {
  const LeasedJob& job = spec.leased;
  absl::StatusOr<v1::JobResult> stored =
      StoreArtifacts(context_.stores, job.job, start, result, output);
  // A result without a model, or with one that changes, is the child's fault.
  if (absl::IsInvalidArgument(stored.status())) {
    return context_.stores.jobs->ReportFault(job.lease, {std::string(stored.status().message())});
  }
  // The storage failed: RunJob postpones the job, and a later run makes the result again.
  PLAIT_RETURN_IF_ERROR(stored.status());
  const v1::SearchReport& search = result.report().search();
  // The child's numbers only ever count up; negative ones would be a lie.
  const auto positive = [](auto value) { return value > 0 ? value : decltype(value){0}; };
  context_.metrics.SearchEnded({positive(search.seconds()), positive(search.profiling_seconds()),
                                positive(search.verification_seconds()),
                                positive(search.candidates()), positive(search.profiles_measured()),
                                positive(search.profiles_cached())});
  JobEnd end;
  end.state = v1::JOB_STATE_SUCCEEDED;
  end.result = *std::move(stored);
  // In the transaction that ends the job: a key never names a job without its result.
  end.cache_as = KeyOf(start, spec);
  return context_.stores.jobs->Finish(job.lease, end);
}

absl::StatusOr<bool> JobRunner::HasAllBlobs(const v1::Job& job) {
  for (const v1::Digest& blob : BlobsMadeBy(job)) {
    PLAIT_ASSIGN_OR_RETURN(const Digest digest, wire::DigestFromProto(blob));
    PLAIT_ASSIGN_OR_RETURN(const bool is_there, context_.stores.blobs->Find(digest));
    if (!is_there) return false;
  }
  return true;
}

absl::StatusOr<v1::Job> JobRunner::FinishFromCache(const LeasedJob& job, const v1::Job& earlier) {
  context_.metrics.ResultCacheHit();
  JobEnd end;
  end.state = v1::JOB_STATE_SUCCEEDED;
  end.result = earlier.result();
  end.result->mutable_report()->set_id(job.job.id());
  end.result->mutable_report()->set_cached(true);
  PLAIT_RETURN_IF_ERROR(StoreReport(context_.stores, job.job.tenant(), *end.result));
  return context_.stores.jobs->Finish(job.lease, end);
}

absl::StatusOr<v1::Job> JobRunner::FinishWithError(const LeasedJob& job, v1::JobState state,
                                                   const absl::Status& error) {
  JobEnd end;
  end.state = state;
  end.error = wire::ErrorDetailOf(error);
  return context_.stores.jobs->Finish(job.lease, end);
}

internal::Start JobRunner::MakeStart(const JobSpec& spec, const JobDevices& devices,
                                     const std::vector<v1::Device>& runtimes) const {
  const v1::Job& job = spec.leased.job;
  internal::Start start;
  start.set_job_id(job.id());
  start.set_tenant(job.tenant());
  *start.mutable_options() = job.options();
  // In the child's copy only: the job's own options are part of the result's key.
  start.mutable_options()->set_budget_seconds(absl::ToDoubleSeconds(spec.budget));
  start.set_budget_seconds_max(absl::ToDoubleSeconds(spec.budget_max));
  *start.mutable_device() = devices.named;
  if (devices.named.predicted()) *start.mutable_comparing_device() = devices.working;
  *start.mutable_model() = job.model();
  start.set_model_file_descriptor(kChildModel);
  start.set_output_file_descriptor(kChildOutput);
  start.set_weights_file_descriptor(kChildWeights);
  start.set_blobs_file_descriptor(kChildBlobs);
  // Where nothing is measured no runtime is.
  if (!devices.named.predicted()) {
    for (const v1::Device& runtime : runtimes) *start.add_runtimes() = runtime;
  }
  start.set_engine_version(options_.engine_version);
  start.set_search_threads(options_.search_threads);
  start.set_task_seconds_max(absl::ToDoubleSeconds(options_.task_time_max));
  return start;
}

absl::StatusOr<internal::ParentMessage> JobRunner::FirstMessage(const JobSpec& spec,
                                                                const internal::Start& start) {
  internal::ParentMessage message;
  internal::Start& whole = *message.mutable_start();
  whole = start;
  if (spec.measurement_log) {
    // A replay reads every time from its log; profiles of today would only mislead it.
    PLAIT_ASSIGN_OR_RETURN(*whole.mutable_replay_log(),
                           ReadBlob(*context_.stores.blobs, *spec.measurement_log));
  } else {
    std::vector<v1::StoredProfile> profiles = spec.recorded;
    if (!start.device().predicted()) {
      PLAIT_ASSIGN_OR_RETURN(profiles, ProfilesOf(start.device().fingerprint()));
    }
    for (v1::StoredProfile& profile : profiles) *whole.add_profiles() = std::move(profile);
  }
  return message;
}

absl::StatusOr<std::vector<v1::StoredProfile>> JobRunner::ProfilesOf(
    const std::string& fingerprint) {
  return context_.stores.profiles->ListNewest(fingerprint, kDeviceProfilesMax);
}

ResultKey JobRunner::KeyOf(const internal::Start& start, const JobSpec& spec) const {
  const v1::Job& job = spec.leased.job;
  // Where a comparison would have taken longer than a task may, the result is the original.
  std::string engine =
      absl::StrCat(options_.engine_version, " ", absl::FormatDuration(options_.task_time_max));
  // Another version of a runtime may be faster with another file.
  for (const v1::Device& runtime : start.runtimes()) {
    absl::StrAppend(&engine, " ", runtime.fingerprint());
  }
  const std::string recorded = DigestOfRecorded(spec.recorded);
  if (!recorded.empty()) absl::StrAppend(&engine, " recorded ", recorded);
  return {job.tenant(), spec.model, start.device().fingerprint(), wire::OptionsHash(job.options()),
          engine};
}

absl::StatusOr<std::vector<v1::Device>> JobRunner::FindRuntimes(
    const v1::OptimizeOptions& options) {
  const auto& names = options.runtimes();
  const auto is_named = [&](const std::string& id) {
    const std::string name = id == wire::kSessionRuntime ? "plait" : id;
    return names.empty() || std::find(names.begin(), names.end(), name) != names.end();
  };
  const bool is_only_plait =
      (names.size() == 1 && names.Get(0) == "plait") || wire::IsDescribedId(options.device());
  std::vector<v1::Device> runtimes;
  // A replay measures nothing: its log says which runtimes there were.
  if (is_only_plait || options.has_measurement_log()) return runtimes;
  Runtimes::Found here;
  if (context_.runtimes != nullptr) here = context_.runtimes->Await(kRuntimesWait);
  std::vector<v1::Device> connected;
  for (DeviceAvailability& entry : context_.pool.Devices()) {
    connected.push_back(std::move(entry.device));
  }
  int64_t unmet = names.size() - std::count(names.begin(), names.end(), "plait");
  for (v1::Device& runtime : RuntimesOf(here, connected)) {
    if (!is_named(runtime.id())) continue;
    if (runtime.id() != wire::kSessionRuntime) --unmet;
    runtimes.push_back(std::move(runtime));
  }
  if (unmet <= 0) return runtimes;
  return wire::Error(v1::ERROR_REASON_DEVICE_UNAVAILABLE,
                     "a runtime that the job names is not there any more (plait devices)");
}

std::optional<v1::Device> JobRunner::FindDevice(const std::string& id,
                                                const v1::OptimizeOptions& options) {
  std::optional<v1::Device> found;
  for (DeviceAvailability& entry : context_.pool.Devices()) {
    if (entry.device.id() != id) continue;
    if (wire::CheckThreads(options, entry.device.cores()).ok()) return std::move(entry.device);
    if (!found) found = std::move(entry.device);
  }
  return found;
}

std::optional<JobRunner::JobDevices> JobRunner::FindDevices(const v1::OptimizeOptions& options) {
  const std::string& id = options.device();
  const std::optional<v1::Device> described = wire::DescribedDevice(id);
  std::optional<v1::Device> working = FindDevice(described ? wire::kComparingDevice : id, options);
  if (!working) return std::nullopt;
  v1::Device named = described ? *described : *working;
  if (wire::IsSimulated(named)) named.set_predicted(true);
  return JobDevices{std::move(named), *std::move(working)};
}

}  // namespace plait
