#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <grpcpp/channel.h>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/retry.h"
#include "plait/v1/blob.grpc.pb.h"
#include "plait/v1/capability.grpc.pb.h"
#include "plait/v1/optimization.grpc.pb.h"

namespace plait {

// A plait server, as a program uses it: calls are repeated when the connection breaks, and none of
// them has an effect twice. Thread-safe: the stubs are, and each call has its own retries.
// Errors of every call: Unavailable when the server cannot be reached; those that the RPC lists,
// with their reason.
class Client {
 public:
  explicit Client(std::shared_ptr<grpc::Channel> channel, RetryPolicy policy = {},
                  Retrier::Sleep sleep = absl::SleepFor);

  // Brings bytes to the server unless it has them; continues an upload that was broken off.
  absl::StatusOr<v1::Digest> Upload(absl::string_view bytes) const;

  // Errors: DataLoss when the bytes that came do not have the digest.
  absl::StatusOr<std::string> Download(const v1::Digest& digest) const;

  // Queues a job. An empty request_id is filled in, which makes repeating safe.
  absl::StatusOr<v1::Job> Submit(v1::OptimizeModelRequest request) const;

  absl::StatusOr<v1::Job> GetJob(absl::string_view job_id) const;
  absl::StatusOr<v1::Job> CancelJob(absl::string_view job_id) const;

  // Newest first; at most `jobs_max`.
  absl::StatusOr<std::vector<v1::Job>> ListJobs(v1::JobState state, int jobs_max) const;

  // Follows a job to its end and returns it in its final state. `on_event` is called once for each
  // event after `after_sequence`, in order, across broken connections.
  absl::StatusOr<v1::Job> Watch(absl::string_view job_id, int64_t after_sequence,
                                const std::function<void(const v1::Event&)>& on_event) const;

  absl::StatusOr<std::vector<v1::AvailableDevice>> ListDevices() const;
  absl::StatusOr<v1::GetCapabilitiesResponse> GetCapabilities() const;

 private:
  Retrier MakeRetrier() const;
  absl::Status UploadOnce(const v1::Digest& digest, absl::string_view bytes) const;

  RetryPolicy policy_;
  Retrier::Sleep sleep_;
  std::unique_ptr<v1::OptimizationService::Stub> optimization_;
  std::unique_ptr<v1::BlobService::Stub> blobs_;
  std::unique_ptr<v1::CapabilityService::Stub> capabilities_;
};

}  // namespace plait
