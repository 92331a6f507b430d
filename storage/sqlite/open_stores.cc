#include <utility>

#include "base/status_macros.h"
#include "storage/files/blob_store.h"
#include "storage/sqlite/job_store.h"
#include "storage/sqlite/profile_store.h"
#include "storage/stores.h"

namespace plait {

// DIRECTORY/lock, jobs.db, profiles.db, and blobs as files. Jobs and profiles are two databases
// because they promise different durability. The lock comes first: nothing is opened beside another
// daemon.
absl::StatusOr<Stores> OpenSqliteStores(const StoresOptions& options, Clock& clock) {
  Stores stores;
  PLAIT_ASSIGN_OR_RETURN(DirectoryLock lock, DirectoryLock::Acquire(options.directory));
  stores.lock = std::make_unique<DirectoryLock>(std::move(lock));
  PLAIT_ASSIGN_OR_RETURN(stores.blobs, OpenFileBlobStore(options.directory, clock));
  PLAIT_ASSIGN_OR_RETURN(stores.profiles,
                         OpenSqliteProfileStore(options.directory + "/profiles.db"));
  PLAIT_ASSIGN_OR_RETURN(stores.jobs,
                         OpenSqliteJobStore(options.directory + "/jobs.db", clock,
                                            {options.queued_jobs_max, options.listener}));
  return stores;
}

}  // namespace plait
