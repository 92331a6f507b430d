#pragma once

#include <set>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/digest.h"
#include "plait/internal/search_child.pb.h"
#include "storage/blob_store.h"

namespace plait {

// The error of a job whose child broke the protocol.
absl::Status Lie(absl::string_view what);

// Rewritten models and inputs that a job's child writes for runtimes, as blobs for their workers;
// and what else a task of theirs may name. Granted to no tenant: a worker may read what its task
// names. As JobWeights: nothing durable names them, and they are noted as in use while a run lasts.
// Not thread-safe.
class JobModels {
 public:
  // `blobs` must outlive the object; `file` is where the child writes. `runtimes` are the job's.
  JobModels(BlobStore& blobs, int file, std::vector<v1::Device> runtimes)
      : blobs_(blobs), file_(file), runtimes_(std::move(runtimes)) {}

  // Stores what the child has written since the last time.
  // Errors: InvalidArgument for too many in all, or bytes that have other digests, which are the
  // child's fault; those of the storage.
  absl::Status Store(const internal::BlobsWritten& written);

  // Does nothing while there are none.
  void NoteUse();

  // The runtime that a request names. A worker reads every blob that its task names, also those of
  // other tenants: each must be the job's model, one of its inputs, or one that was stored here.
  // Errors: InvalidArgument for a runtime or a blob that is not the job's.
  absl::StatusOr<v1::Device> CheckRequest(const internal::MeasureModelsRequest& request,
                                          const v1::Job& job) const;

 private:
  // From `offset` of the file.
  absl::Status StoreOne(const Digest& digest, int64_t offset);

  BlobStore& blobs_;
  const int file_;
  const std::vector<v1::Device> runtimes_;
  int written_ = 0;           // blobs, so far
  int64_t offset_bytes_ = 0;  // behind the last of them
  std::set<std::pair<std::string, int64_t>> stored_;
};

}  // namespace plait
