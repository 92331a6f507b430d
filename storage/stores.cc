#include "storage/stores.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "proto/wire/error.h"
#include "storage/file_blob_store.h"
#include "storage/memory_blob_store.h"
#include "storage/memory_job_store.h"
#include "storage/memory_profile_store.h"
#include "storage/sqlite_job_store.h"
#include "storage/sqlite_profile_store.h"

namespace plait {
namespace {

absl::StatusOr<Stores> OpenMemoryStores(const StoresOptions& options, Clock& clock) {
  Stores stores;
  stores.blobs = NewMemoryBlobStore(clock);
  stores.profiles = NewMemoryProfileStore();
  stores.jobs = NewMemoryJobStore(clock, {options.queued_jobs_max, options.listener});
  return stores;
}

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

struct Backend {
  absl::string_view name;
  absl::StatusOr<Stores> (*open)(const StoresOptions&, Clock&);
};

constexpr Backend kBackends[] = {
#define PLAIT_STORES(name, function) {#name, function},
#include "storage/stores.def"
#undef PLAIT_STORES
};

}  // namespace

absl::StatusOr<Stores> OpenStores(absl::string_view backend, const StoresOptions& options,
                                  Clock& clock) {
  for (const Backend& entry : kBackends) {
    if (entry.name == backend) return entry.open(options, clock);
  }
  return wire::Error(v1::ERROR_REASON_INVALID_REQUEST,
                     absl::StrCat("storage backend: must be one of ",
                                  absl::StrJoin(StoreBackends(), ", "), ", is \"", backend, "\""));
}

std::vector<std::string> StoreBackends() {
  std::vector<std::string> names;
  for (const Backend& entry : kBackends) names.emplace_back(entry.name);
  return names;
}

}  // namespace plait
