#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <grpcpp/channel.h>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "client/retry.h"
#include "plait/v1/blob.pb.h"
#include "plait/v1/capability.pb.h"
#include "plait/v1/optimization.pb.h"
#include "plait/v1/profile.pb.h"

namespace plait {

// Map of this folder. The library, for any program: client and blobs (calls and bytes), retry,
// server_session and embedded_server (which server), job_request, input_sets and job_result (from
// options to a delivered model). What the verbs share: loaded_model, local_profiler, tensor_folder,
// npy, shape_option, file. The program: main, cli, command, console, interrupts, exit_code,
// progress_bar, report_table, json, completion; a file for each verb in commands/, and rooms for
// what stands behind gate and doctor.
//
// What makes repeating safe: uploads go on where the server says, submissions carry a request id,
// watching goes on after the last event seen, and all other calls change nothing or the same thing
// again. What the server sends is believed but for bytes, which are checked against their digest.
//
// A plait server, as a program uses it: calls are repeated when the connection breaks, and none of
// them has an effect twice. Thread-safe: the stubs are, and each call has its own retries.
// Errors of every call: Unavailable when the server cannot be reached; those that the RPC lists,
// with their reason.
class Client {
 public:
  // `sleep` is called between attempts; tests pass one that does not wait.
  explicit Client(std::shared_ptr<grpc::Channel> channel, RetryPolicy policy = {},
                  Retrier::Sleep sleep = absl::SleepFor);
  ~Client();

  // Brings bytes to the server unless it has them; continues an upload that was broken off.
  // `bytes` are read where they lie and sent in chunks; nothing is copied as a whole.
  absl::StatusOr<v1::Digest> Upload(absl::string_view bytes) const;

  // Errors: DataLoss when the bytes that came do not have the digest.
  // REQUIRES: the bytes fit into memory. ResourceExhausted above kModelBytesMax, before any byte
  // comes.
  absl::StatusOr<std::string> Download(const v1::Digest& digest) const;

  // Queues a job. An empty request_id is filled in, which makes repeating safe.
  // An OK answer means that the job is on the server's disk.
  absl::StatusOr<v1::Job> Submit(v1::OptimizeModelRequest request) const;

  // Of the caller's tenant; another's is NotFound. A call that takes a minute is given up.
  absl::StatusOr<v1::Job> GetJob(absl::string_view job_id) const;
  // Returns when the wish is durable; the job may still be running, or may have ended before.
  absl::StatusOr<v1::Job> CancelJob(absl::string_view job_id) const;

  // Newest first; at most `jobs_max`.
  // Reads as many pages as it takes; reports are left out.
  // `filter`: see ListJobsRequest.
  absl::StatusOr<std::vector<v1::Job>> ListJobs(v1::JobState state, const std::string& filter,
                                                int jobs_max) const;

  // Follows a job to its end and returns it in its final state. `on_event` is called once for each
  // event after `after_sequence`, in order, across broken connections.
  // Blocks until then, without a limit of time. The callback runs on the calling thread.
  absl::StatusOr<v1::Job> Watch(absl::string_view job_id, int64_t after_sequence,
                                const std::function<void(const v1::Event&)>& on_event) const;

  // Stored profiles in the order of their keys, of one device where a fingerprint is given. Errors
  // of this and the next two: PermissionDenied, unless the server takes the caller for an operator.
  absl::Status ListProfiles(const std::string& device_fingerprint,
                            const std::function<void(const v1::StoredProfile&)>& on_profile) const;
  // In batches, each of which is stored whole or not at all. Returns how many were new or better.
  absl::StatusOr<int64_t> ImportProfiles(absl::Span<const v1::StoredProfile> profiles) const;
  // In batches as well. Returns how many were there.
  absl::StatusOr<int64_t> DropProfiles(absl::Span<const v1::StoredProfile> profiles) const;

  // A moment's view.
  absl::StatusOr<v1::ListDevicesResponse> ListDevices() const;
  absl::StatusOr<v1::GetCapabilitiesResponse> GetCapabilities() const;

 private:
  Retrier MakeRetrier() const;
  // One attempt: asks what is missing, and sends from there.
  // `confirmed_bytes`: how many the server says that it has.
  absl::Status UploadOnce(const v1::Digest& digest, absl::string_view bytes,
                          int64_t& confirmed_bytes) const;

  RetryPolicy policy_;
  Retrier::Sleep sleep_;
  mutable ServerSeen server_;
  // See stubs.h.
  struct Stubs;
  const std::unique_ptr<const Stubs> stubs_;
};

}  // namespace plait
