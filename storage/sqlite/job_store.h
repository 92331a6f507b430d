#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "storage/table_job_store.h"

namespace plait {

// Jobs in an SQLite file in WAL mode with synchronous=FULL: what was acknowledged survives kill -9
// and the loss of power. Writes share a thread and its commits; reads have a connection of their
// own and never wait for them. Thread-safe; one process at a time (see DirectoryLock). `clock` must
// outlive the store.
// Errors: DataLoss when the file is damaged; FailedPrecondition when it is from a newer plait;
// Unavailable; ResourceExhausted.
absl::StatusOr<std::unique_ptr<JobStore>> OpenSqliteJobStore(const std::string& path, Clock& clock,
                                                             TableJobStoreOptions options);

}  // namespace plait
