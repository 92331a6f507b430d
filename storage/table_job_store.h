#pragma once

#include <memory>

#include "base/clock.h"
#include "storage/job_store.h"
#include "storage/job_table.h"

namespace plait {

// What a backend passes on when it opens its jobs.
struct TableJobStoreOptions {
  int64_t queued_jobs_max = 0;  // REQUIRES: positive
  JobListener listener;         // may be empty
};

// The rules of jobs over any tables: every storage backend shares them, so that all of them agree.
// Each call is one transaction; the listener hears of it when it is committed. Thread-safe. `clock`
// must outlive the store.
//
// The listener is called after the commit and without a lock. A crash between the two loses
// wake-ups only: who waited for one died with it, or asks again.
std::unique_ptr<JobStore> NewTableJobStore(std::unique_ptr<JobTransactor> transactor, Clock& clock,
                                           TableJobStoreOptions options);

}  // namespace plait
