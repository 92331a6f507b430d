#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/clock.h"
#include "base/limits.h"
#include "storage/blob_store.h"
#include "storage/directory_lock.h"
#include "storage/job_store.h"
#include "storage/profile_store.h"

namespace plait {

struct StoresOptions {
  std::string directory;  // of the data; memory needs none
  int64_t queued_jobs_max = kQueuedJobsMax;
  JobListener listener;  // may be empty
};

// Everything that a server remembers. The lock is held for as long as the stores live.
struct Stores {
  std::unique_ptr<DirectoryLock> lock;
  std::unique_ptr<BlobStore> blobs;
  std::unique_ptr<ProfileStore> profiles;
  std::unique_ptr<JobStore> jobs;
};

// Opens the stores of a backend named in stores.def. `clock` must outlive them.
// Errors: InvalidArgument naming the backends for an unknown one; FailedPrecondition when another
// process uses the directory or it is from a newer plait; DataLoss when a file is damaged;
// Unavailable; ResourceExhausted.
absl::StatusOr<Stores> OpenStores(absl::string_view backend, const StoresOptions& options,
                                  Clock& clock);

// The names in stores.def.
std::vector<std::string> StoreBackends();

}  // namespace plait
