#include "storage/memory/blob_store.h"
#include "storage/memory/job_store.h"
#include "storage/memory/profile_store.h"
#include "storage/stores.h"

namespace plait {

// Without a lock: what is in memory has one owner by itself.
absl::StatusOr<Stores> OpenMemoryStores(const StoresOptions& options, Clock& clock) {
  Stores stores;
  stores.blobs = NewMemoryBlobStore(clock);
  stores.profiles = NewMemoryProfileStore();
  stores.jobs = NewMemoryJobStore(clock, {options.queued_jobs_max, options.listener});
  return stores;
}

}  // namespace plait
