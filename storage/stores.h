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

// Map of this folder. What a server sees: job_store, blob_store, profile_store, and this header,
// which opens all three of a backend. What all backends share, so that they cannot differ in it:
//   job_state, job_operations, table_job_store   the rules of a job's life, over any tables
//   job_table                                    the tables and transactions that a backend brings
//   blob_upload, blob_bytes, blob_garbage        the checks of an upload, and what blobs are for
//   directory_lock, file_error                   one daemon per directory, and errno as a status
// A backend is a folder (memory, sqlite; files holds blobs for sqlite) and a line in stores.def.
namespace plait {

// How the stores are opened, whatever the backend.
struct StoresOptions {
  std::string directory;                     // of the data; memory needs none
  int64_t queued_jobs_max = kQueuedJobsMax;  // REQUIRES: positive
  JobListener listener;                      // may be empty
};

// Everything that a server remembers. The lock is held for as long as the stores live; it stands
// first, so that it goes last.
struct Stores {
  std::unique_ptr<DirectoryLock> lock;  // nullptr where nothing is on disk
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

// The names in stores.def, in its order: what a configuration may say.
std::vector<std::string> StoreBackends();

}  // namespace plait
