#pragma once

#include <memory>

#include "storage/table_job_store.h"

namespace plait {

// Jobs in memory: for tests and trials. Nothing survives the process. Each write copies all jobs,
// so that a failed one can be undone: not for thousands of them. Thread-safe. `clock` must outlive
// the store.
// A transaction is a copy and a lock; the rules are those of all backends. Delayed writes are done
// at once.
std::unique_ptr<JobStore> NewMemoryJobStore(Clock& clock, TableJobStoreOptions options);

}  // namespace plait
