#include "server/services/optimization_service.h"

#include <algorithm>

#include <openssl/rand.h>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/limits.h"
#include "base/status_macros.h"
#include "proto/wire/device.h"
#include "proto/wire/digest.h"
#include "proto/wire/error.h"
#include "proto/wire/job_filter.h"
#include "proto/wire/job_state.h"
#include "proto/wire/known_fields.h"
#include "proto/wire/names.h"
#include "proto/wire/options.h"
#include "proto/wire/page.h"
#include "proto/wire/plan_options.h"
#include "server/services/rpc_scope.h"
#include "server/telemetry/log.h"

namespace plait {
namespace {

// Some 25 KB: a watcher of a long job does not read all of it into memory.
constexpr int kEventsPerRead = 256;
// A watcher whose client is gone is noticed after this at the latest.
constexpr absl::Duration kWatchInterval = absl::Seconds(1);

// Random: a number would tell how many jobs others have.
std::string NewJobId() {
  unsigned char bytes[16];
  PLAIT_CHECK(RAND_bytes(bytes, sizeof(bytes)) == 1);
  return absl::BytesToHexString(
      absl::string_view(reinterpret_cast<const char*>(bytes), sizeof(bytes)));
}

absl::Status CheckDevice(const ServiceContext& context, const std::string& device) {
  if (wire::IsDescribedId(device)) {
    if (wire::DescribedDevice(device)) return CheckDevice(context, wire::kComparingDevice);
    std::vector<std::string> ids;
    for (const v1::Device& described : wire::DescribedDevices()) ids.push_back(described.id());
    return wire::Error(v1::ERROR_REASON_DEVICE_UNAVAILABLE,
                       absl::StrCat("no device \"", device,
                                    "\" is described (there are: ", absl::StrJoin(ids, ", "), ")"));
  }
  // A worker of this machine may be restarting just now; the job waits for it.
  const std::vector<std::string>& local = context.local_devices;
  if (std::find(local.begin(), local.end(), device) != local.end()) return absl::OkStatus();
  std::string names;
  for (const DeviceAvailability& entry : context.pool.Devices()) {
    if (entry.device.id() == device) return absl::OkStatus();
    absl::StrAppend(&names, names.empty() ? "" : ", ", entry.device.id());
  }
  return wire::Error(v1::ERROR_REASON_DEVICE_UNAVAILABLE,
                     absl::StrCat("no worker serves device \"", device,
                                  "\" (there are: ", names.empty() ? "none" : names, ")"));
}

// Of the workers that are connected the one with most. Where none is, as while it restarts, the job
// finds out; a replay runs on the device of its log.
absl::Status CheckThreads(const ServiceContext& context, const v1::OptimizeOptions& options) {
  if (options.has_measurement_log()) return absl::OkStatus();
  int threads = 0;
  for (const DeviceAvailability& entry : context.pool.Devices()) {
    if (entry.device.id() == options.device()) threads = std::max(threads, entry.device.cores());
  }
  return threads == 0 ? absl::OkStatus() : wire::CheckThreads(options, threads);
}

// A replay measures nothing: its log says what the runtimes of then did.
absl::Status CheckRuntimes(const ServiceContext& context, const v1::OptimizeOptions& options) {
  const bool names_any = std::any_of(options.runtimes().begin(), options.runtimes().end(),
                                     [](const std::string& name) { return name != "plait"; });
  if (!names_any || options.has_measurement_log()) return absl::OkStatus();
  Runtimes::Found here;
  if (context.runtimes != nullptr) here = context.runtimes->Await(kRuntimesWait);
  std::vector<v1::Device> connected;
  for (const DeviceAvailability& entry : context.pool.Devices()) connected.push_back(entry.device);
  std::vector<std::string> names;
  for (const v1::Device& runtime : RuntimesOf(here, connected)) {
    if (runtime.id() != wire::kSessionRuntime) names.push_back(runtime.id());
  }
  names.emplace_back("plait");
  for (const std::string& name : options.runtimes()) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    return wire::Error(v1::ERROR_REASON_DEVICE_UNAVAILABLE,
                       absl::StrCat("runtimes: this server does not have \"", name,
                                    "\" (there are: ", absl::StrJoin(names, ", "),
                                    "; plait devices says what is missing)"));
  }
  return absl::OkStatus();
}

// Above it no search can read a model: it is refused before anybody sends or stores it.
absl::Status CheckModelSize(const v1::Digest& model) {
  if (model.size_bytes() <= kModelBytesMax) return absl::OkStatus();
  return wire::Error(v1::ERROR_REASON_LIMIT_EXCEEDED,
                     absl::StrCat("model: at most ", kModelBytesMax, " bytes are allowed, has ",
                                  model.size_bytes()));
}

// `what` names the blob in the error, `field` its digest's place in the request.
absl::Status CheckBlob(const ServiceContext& context, const std::string& tenant,
                       absl::string_view what, absl::string_view field, const v1::Digest& proto) {
  PLAIT_ASSIGN_OR_RETURN(const Digest digest, wire::DigestFromProto(proto, field));
  PLAIT_ASSIGN_OR_RETURN(const bool may_read, context.stores.jobs->MayReadBlob(tenant, digest));
  PLAIT_ASSIGN_OR_RETURN(const bool is_there,
                         may_read ? context.stores.blobs->Find(digest) : false);
  if (is_there) return absl::OkStatus();
  return wire::MissingBlobError(
      digest, absl::StrCat(what, " ", digest.ToString(), " is not here (upload it first)"));
}

// Everything that the request names besides the model.
absl::Status CheckBlobsOf(const ServiceContext& context, const std::string& tenant,
                          const v1::OptimizeOptions& options) {
  if (options.has_measurement_log()) {
    PLAIT_RETURN_IF_ERROR(CheckBlob(context, tenant, "measurement log", "options.measurement_log",
                                    options.measurement_log()));
  }
  for (const v1::InputSet& set : options.input_sets()) {
    for (const v1::InputValue& value : set.values()) {
      const std::string what = absl::StrCat("value of input ", absl::CHexEscape(value.name()));
      PLAIT_RETURN_IF_ERROR(CheckBlob(context, tenant, what, "options.input_sets", value.blob()));
    }
  }
  return absl::OkStatus();
}

// The whole queue is guarded by the store; this keeps one tenant from filling it.
absl::Status CheckTenantQuota(const ServiceContext& context, const std::string& tenant) {
  PLAIT_ASSIGN_OR_RETURN(const JobCounts counts, context.stores.jobs->Count());
  const int64_t jobs_max = context.tenant_queued_jobs_max;
  if (counts.queued < jobs_max) return absl::OkStatus();
  PLAIT_ASSIGN_OR_RETURN(const JobPage page,
                         context.stores.jobs->List({.tenant = tenant,
                                                    .state = v1::JOB_STATE_QUEUED,
                                                    .page_size = static_cast<int>(jobs_max)}));
  if (static_cast<int64_t>(page.jobs.size()) < jobs_max) return absl::OkStatus();
  return wire::Error(v1::ERROR_REASON_QUOTA_EXCEEDED,
                     absl::StrCat("tenant ", tenant, " has ", jobs_max,
                                  " queued jobs, the most allowed (try again later)"));
}

// Checks a request and fills in the job that it asks for, but for the job's id.
absl::Status CheckRequest(const ServiceContext& context, const Caller& caller,
                          const v1::OptimizeModelRequest& request, v1::Job& job) {
  // First, so that a client tries elsewhere at once.
  if (context.draining) {
    return wire::Error(v1::ERROR_REASON_DRAINING, "the server is stopping (try again later)");
  }
  // From the cheapest check to the dearest.
  PLAIT_ASSIGN_OR_RETURN(*job.mutable_options(), wire::CheckedOptions(request.options()));
  PLAIT_RETURN_IF_ERROR(CheckModelSize(request.model()));
  PLAIT_RETURN_IF_ERROR(CheckDevice(context, job.options().device()));
  PLAIT_RETURN_IF_ERROR(CheckThreads(context, job.options()));
  PLAIT_RETURN_IF_ERROR(CheckRuntimes(context, job.options()));
  PLAIT_RETURN_IF_ERROR(CheckBlob(context, caller.tenant, "model", "model", request.model()));
  PLAIT_RETURN_IF_ERROR(CheckBlobsOf(context, caller.tenant, job.options()));
  job.set_tenant(caller.tenant);
  *job.mutable_model() = request.model();
  return CheckTenantQuota(context, caller.tenant);
}

absl::Status Submit(const ServiceContext& context, const Caller& caller,
                    const v1::OptimizeModelRequest& request, v1::Job& job) {
  PLAIT_RETURN_IF_ERROR(wire::CheckFieldsKnown("", request));
  PLAIT_RETURN_IF_ERROR(wire::CheckRequestId(request.request_id()));
  JobSubmission submission;
  submission.request_id = request.request_id();
  submission.request_hash = wire::MessageHash(request);
  // Before all that may have changed since: a call that was acknowledged is acknowledged again,
  // also by a server that is stopping, or whose queue is full of this very job.
  submission.job.set_tenant(caller.tenant);
  PLAIT_ASSIGN_OR_RETURN(std::optional<v1::Job> known,
                         context.stores.jobs->FindSubmitted(submission));
  if (known) {
    job = *std::move(known);
    return absl::OkStatus();
  }
  PLAIT_RETURN_IF_ERROR(CheckRequest(context, caller, request, job));
  if (request.validate_only()) return absl::OkStatus();
  job.set_id(NewJobId());
  submission.job = job;
  const absl::Duration began = context.clock.Monotonic();
  PLAIT_ASSIGN_OR_RETURN(job, context.stores.jobs->Submit(submission));
  context.metrics.StorageCommitted(context.clock.Monotonic() - began);
  // A repeated request id gives the job of then, which was counted then.
  if (job.id() == submission.job.id()) {
    context.metrics.JobSubmitted();
    LogInfo("job.submitted", {{"job", job.id()}, {"tenant", caller.tenant}});
  }
  return absl::OkStatus();
}

// Errors: InvalidArgument for a state that only a newer server has.
absl::StatusOr<v1::JobState> StateOf(v1::JobState state) {
  if (v1::JobState_IsValid(state)) return state;
  return wire::FieldError("state", absl::StrCat("must be a state of this server, is ", state));
}

absl::Status Watch(const ServiceContext& context, const Caller& caller, grpc::ServerContext& call,
                   const v1::WatchJobRequest& request,
                   grpc::ServerWriter<v1::WatchJobResponse>& writer) {
  PLAIT_RETURN_IF_ERROR(wire::CheckJobId(request.job_id()));
  int64_t after = request.after_sequence();
  if (after < 0) {
    return wire::FieldError("after_sequence", absl::StrCat("must be 0 or more, is ", after));
  }
  v1::WatchJobResponse response;
  PLAIT_ASSIGN_OR_RETURN(*response.mutable_job(),
                         context.stores.jobs->Get(caller.tenant, request.job_id()));
  const auto write = [&] {
    return context.stream_deadlines.Await(call, [&] { return writer.Write(response); });
  };
  // The client has gone; there is nobody to tell an error.
  if (!write()) return absl::OkStatus();
  EventHub::Watcher watcher(context.events, request.job_id());
  while (!call.IsCancelled()) {
    // Noted before reading: what changes while we read ends the wait at once.
    const uint64_t seen = watcher.Changes();
    // Read before the events: when the job is final here, all its events are there below.
    PLAIT_ASSIGN_OR_RETURN(const v1::Job job,
                           context.stores.jobs->Get(caller.tenant, request.job_id()));
    bool is_last = false;
    while (!is_last) {
      PLAIT_ASSIGN_OR_RETURN(
          const std::vector<v1::Event> events,
          context.stores.jobs->Events(caller.tenant, request.job_id(), after, kEventsPerRead));
      for (const v1::Event& event : events) {
        *response.mutable_event() = event;
        if (!write()) return absl::OkStatus();
        after = event.sequence();
      }
      is_last = static_cast<int>(events.size()) < kEventsPerRead;
    }
    if (wire::IsFinal(job.state())) {
      *response.mutable_job() = job;
      write();
      return absl::OkStatus();
    }
    if (context.events.closed()) {
      return wire::Error(v1::ERROR_REASON_DRAINING, "the server is stopping (watch again later)");
    }
    watcher.Await(seen, kWatchInterval);
  }
  return absl::OkStatus();
}

}  // namespace

grpc::Status OptimizationServiceHandler::OptimizeModel(grpc::ServerContext* context,
                                                       const v1::OptimizeModelRequest* request,
                                                       v1::OptimizeModelResponse* response) {
  return AnswerRpc(context_, *context, Method::kOptimizeModel,
                   [&](const Caller& caller) -> absl::Status {
                     return Submit(context_, caller, *request, *response->mutable_job());
                   });
}

grpc::Status OptimizationServiceHandler::GetJob(grpc::ServerContext* context,
                                                const v1::GetJobRequest* request,
                                                v1::GetJobResponse* response) {
  return AnswerRpc(context_, *context, Method::kGetJob, [&](const Caller& caller) -> absl::Status {
    PLAIT_RETURN_IF_ERROR(wire::CheckJobId(request->job_id()));
    PLAIT_ASSIGN_OR_RETURN(*response->mutable_job(),
                           context_.stores.jobs->Get(caller.tenant, request->job_id()));
    PLAIT_ASSIGN_OR_RETURN(const std::vector<v1::Attempt> attempts,
                           context_.stores.jobs->Attempts(caller.tenant, request->job_id()));
    for (const v1::Attempt& attempt : attempts) *response->add_attempts() = attempt;
    return absl::OkStatus();
  });
}

grpc::Status OptimizationServiceHandler::ListJobs(grpc::ServerContext* context,
                                                  const v1::ListJobsRequest* request,
                                                  v1::ListJobsResponse* response) {
  return AnswerRpc(
      context_, *context, Method::kListJobs, [&](const Caller& caller) -> absl::Status {
        PLAIT_RETURN_IF_ERROR(wire::CheckFieldsKnown("", *request));
        JobQuery query;
        query.tenant = caller.tenant;
        PLAIT_ASSIGN_OR_RETURN(query.state, StateOf(request->state()));
        PLAIT_ASSIGN_OR_RETURN(query.filter, wire::JobFilter::Parse(request->filter()));
        PLAIT_ASSIGN_OR_RETURN(query.page_size, wire::PageSizeOf(request->page_size()));
        const std::string filter =
            absl::StrCat("jobs ", caller.tenant, " ", request->state(), " ", request->filter());
        PLAIT_ASSIGN_OR_RETURN(const std::string position,
                               wire::PagePosition(filter, request->page_token()));
        if (!position.empty() && !absl::SimpleAtoi(position, &query.before)) {
          return wire::FieldError("page_token", "is not one of ours");
        }
        PLAIT_ASSIGN_OR_RETURN(const JobPage page, context_.stores.jobs->List(query));
        for (const v1::Job& job : page.jobs) *response->add_jobs() = job;
        if (page.next_before != 0) {
          response->set_next_page_token(wire::PageToken(filter, absl::StrCat(page.next_before)));
        }
        return absl::OkStatus();
      });
}

grpc::Status OptimizationServiceHandler::CancelJob(grpc::ServerContext* context,
                                                   const v1::CancelJobRequest* request,
                                                   v1::CancelJobResponse* response) {
  return AnswerRpc(
      context_, *context, Method::kCancelJob, [&](const Caller& caller) -> absl::Status {
        PLAIT_RETURN_IF_ERROR(wire::CheckJobId(request->job_id()));
        PLAIT_ASSIGN_OR_RETURN(*response->mutable_job(),
                               context_.stores.jobs->Cancel(caller.tenant, request->job_id()));
        LogInfo("job.cancelled", {{"job", request->job_id()}, {"tenant", caller.tenant}});
        return absl::OkStatus();
      });
}

grpc::Status OptimizationServiceHandler::DeleteJob(grpc::ServerContext* context,
                                                   const v1::DeleteJobRequest* request,
                                                   v1::DeleteJobResponse*) {
  return AnswerRpc(
      context_, *context, Method::kDeleteJob, [&](const Caller& caller) -> absl::Status {
        PLAIT_RETURN_IF_ERROR(wire::CheckJobId(request->job_id()));
        PLAIT_RETURN_IF_ERROR(context_.stores.jobs->Delete(caller.tenant, request->job_id()));
        LogInfo("job.deleted", {{"job", request->job_id()}, {"tenant", caller.tenant}});
        return absl::OkStatus();
      });
}

grpc::Status OptimizationServiceHandler::WatchJob(
    grpc::ServerContext* context, const v1::WatchJobRequest* request,
    grpc::ServerWriter<v1::WatchJobResponse>* writer) {
  return AnswerRpc(
      context_, *context, Method::kWatchJob, [&](const Caller& caller) -> absl::Status {
        PLAIT_ASSIGN_OR_RETURN(const StreamSlots::Slot slot, context_.streams.Open(caller.tenant));
        return Watch(context_, caller, *context, *request, *writer);
      });
}

}  // namespace plait
