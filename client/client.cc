#include "client/client.h"

#include <algorithm>
#include <chrono>
#include <random>

#include <grpcpp/client_context.h>

#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "client/stubs.h"
#include "proto/wire/error.h"
#include "proto/wire/grpc_status.h"
#include "proto/wire/job_state.h"

namespace plait {
namespace {

// 60 s: a unary call does one durable write; a server that takes longer is taken for dead.
constexpr std::chrono::seconds kCallTimeout(60);
// 1 MB and 1,000: far from what a server takes in one request, and no call for each profile.
constexpr size_t kBatchBytesMax = 1'000'000;
constexpr size_t kBatchProfilesMax = 1'000;

uint64_t RandomSeed() {
  std::random_device device;
  return (uint64_t{device()} << 32) | device();
}

// 128 bits: two clients never choose the same by chance.
std::string NewRequestId() { return absl::StrFormat("%016x%016x", RandomSeed(), RandomSeed()); }

// Calls `method` until it answers.
template <typename Stub, typename Method, typename Request, typename Response>
absl::Status Call(Retrier retrier, Stub& stub, Method method, const Request& request,
                  Response* response) {
  return retrier.Run([&] {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kCallTimeout);
    return wire::FromGrpcStatus((stub.*method)(&context, request, response));
  });
}

// Takes from the front as many profiles as a request may have: one at least.
absl::Span<const v1::StoredProfile> NextBatch(absl::Span<const v1::StoredProfile>* profiles) {
  size_t count = 0;
  size_t bytes = 0;
  while (count < std::min(profiles->size(), kBatchProfilesMax)) {
    bytes += (*profiles)[count].ByteSizeLong();
    if (count > 0 && bytes > kBatchBytesMax) break;
    ++count;
  }
  const absl::Span<const v1::StoredProfile> batch = profiles->first(count);
  profiles->remove_prefix(count);
  return batch;
}

}  // namespace

Client::Client(std::shared_ptr<grpc::Channel> channel, RetryPolicy policy, Retrier::Sleep sleep)
    : policy_(policy),
      sleep_(std::move(sleep)),
      stubs_(new Stubs{v1::OptimizationService::NewStub(channel), v1::BlobService::NewStub(channel),
                       v1::CapabilityService::NewStub(channel),
                       v1::ProfileService::NewStub(channel)}) {}

Client::~Client() = default;

Retrier Client::MakeRetrier() const { return Retrier(policy_, RandomSeed(), sleep_, server_); }

absl::StatusOr<v1::Job> Client::Submit(v1::OptimizeModelRequest request) const {
  // Once, before the first attempt: all attempts are the same wish.
  if (request.request_id().empty()) request.set_request_id(NewRequestId());
  v1::OptimizeModelResponse response;
  PLAIT_RETURN_IF_ERROR(Call(MakeRetrier(), *stubs_->optimization,
                             &v1::OptimizationService::Stub::OptimizeModel, request, &response));
  return std::move(*response.mutable_job());
}

absl::StatusOr<v1::Job> Client::GetJob(absl::string_view job_id) const {
  v1::GetJobRequest request;
  request.set_job_id(std::string(job_id));
  v1::GetJobResponse response;
  PLAIT_RETURN_IF_ERROR(Call(MakeRetrier(), *stubs_->optimization,
                             &v1::OptimizationService::Stub::GetJob, request, &response));
  return std::move(*response.mutable_job());
}

absl::StatusOr<v1::Job> Client::CancelJob(absl::string_view job_id) const {
  v1::CancelJobRequest request;
  request.set_job_id(std::string(job_id));
  v1::CancelJobResponse response;
  PLAIT_RETURN_IF_ERROR(Call(MakeRetrier(), *stubs_->optimization,
                             &v1::OptimizationService::Stub::CancelJob, request, &response));
  return std::move(*response.mutable_job());
}

absl::StatusOr<std::vector<v1::Job>> Client::ListJobs(v1::JobState state, const std::string& filter,
                                                      int jobs_max) const {
  std::vector<v1::Job> jobs;
  v1::ListJobsRequest request;
  request.set_state(state);
  request.set_filter(filter);
  while (static_cast<int>(jobs.size()) < jobs_max) {
    // Only what is still wanted: the last page is as short as it can be.
    request.set_page_size(jobs_max - static_cast<int>(jobs.size()));
    v1::ListJobsResponse response;
    PLAIT_RETURN_IF_ERROR(Call(MakeRetrier(), *stubs_->optimization,
                               &v1::OptimizationService::Stub::ListJobs, request, &response));
    for (v1::Job& job : *response.mutable_jobs()) jobs.push_back(std::move(job));
    if (response.next_page_token().empty()) break;
    request.set_page_token(response.next_page_token());
  }
  return jobs;
}

absl::StatusOr<v1::Job> Client::Watch(absl::string_view job_id, int64_t after_sequence,
                                      const std::function<void(const v1::Event&)>& on_event) const {
  Retrier retrier = MakeRetrier();
  v1::WatchJobRequest request;
  request.set_job_id(std::string(job_id));
  request.set_after_sequence(after_sequence);
  v1::Job last;
  const absl::Status status = retrier.Run([&]() -> absl::Status {
    // Without a deadline: a search may take hours, and silence is normal.
    grpc::ClientContext context;
    const auto reader = stubs_->optimization->WatchJob(&context, request);
    v1::WatchJobResponse response;
    while (reader->Read(&response)) {
      retrier.Progress();
      if (response.has_job()) last = response.job();
      if (!response.has_event()) continue;
      // Never twice, whatever a server sends after a broken stream.
      if (response.event().sequence() <= request.after_sequence()) continue;
      request.set_after_sequence(response.event().sequence());
      on_event(response.event());
    }
    PLAIT_RETURN_IF_ERROR(wire::FromGrpcStatus(reader->Finish()));
    if (wire::IsFinal(last.state())) return absl::OkStatus();
    // A server that stops closes its streams in order.
    return absl::UnavailableError("the server ended the stream before the job was over");
  });
  PLAIT_RETURN_IF_ERROR(status);
  return last;
}

absl::Status Client::ListProfiles(
    const std::string& device_fingerprint,
    const std::function<void(const v1::StoredProfile&)>& on_profile) const {
  v1::ListProfilesRequest request;
  request.set_device_fingerprint(device_fingerprint);
  do {
    v1::ListProfilesResponse response;
    PLAIT_RETURN_IF_ERROR(Call(MakeRetrier(), *stubs_->profiles,
                               &v1::ProfileService::Stub::ListProfiles, request, &response));
    for (const v1::StoredProfile& profile : response.profiles()) on_profile(profile);
    request.set_page_token(response.next_page_token());
  } while (!request.page_token().empty());
  return absl::OkStatus();
}

absl::StatusOr<int64_t> Client::ImportProfiles(absl::Span<const v1::StoredProfile> profiles) const {
  int64_t imported = 0;
  while (!profiles.empty()) {
    const absl::Span<const v1::StoredProfile> batch = NextBatch(&profiles);
    v1::ImportProfilesRequest request;
    for (const v1::StoredProfile& profile : batch) *request.add_profiles() = profile;
    v1::ImportProfilesResponse response;
    PLAIT_RETURN_IF_ERROR(Call(MakeRetrier(), *stubs_->profiles,
                               &v1::ProfileService::Stub::ImportProfiles, request, &response));
    imported += response.imported();
  }
  return imported;
}

absl::StatusOr<int64_t> Client::DropProfiles(absl::Span<const v1::StoredProfile> profiles) const {
  int64_t dropped = 0;
  while (!profiles.empty()) {
    v1::DropProfilesRequest request;
    for (const v1::StoredProfile& profile : NextBatch(&profiles)) {
      v1::ProfileName& name = *request.add_profiles();
      name.set_device_fingerprint(profile.device_fingerprint());
      name.set_key(profile.key());
    }
    v1::DropProfilesResponse response;
    PLAIT_RETURN_IF_ERROR(Call(MakeRetrier(), *stubs_->profiles,
                               &v1::ProfileService::Stub::DropProfiles, request, &response));
    dropped += response.dropped();
  }
  return dropped;
}

absl::StatusOr<v1::ListDevicesResponse> Client::ListDevices() const {
  v1::ListDevicesResponse response;
  PLAIT_RETURN_IF_ERROR(Call(MakeRetrier(), *stubs_->capabilities,
                             &v1::CapabilityService::Stub::ListDevices, v1::ListDevicesRequest(),
                             &response));
  return response;
}

absl::StatusOr<v1::GetCapabilitiesResponse> Client::GetCapabilities() const {
  v1::GetCapabilitiesResponse response;
  PLAIT_RETURN_IF_ERROR(Call(MakeRetrier(), *stubs_->capabilities,
                             &v1::CapabilityService::Stub::GetCapabilities,
                             v1::GetCapabilitiesRequest(), &response));
  return response;
}

}  // namespace plait
