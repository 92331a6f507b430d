#pragma once

#include <memory>

#include "base/clock.h"
#include "storage/job_store.h"
#include "storage/job_table.h"

namespace plait {

struct TableJobStoreOptions {
  int64_t queued_jobs_max = 0;  // REQUIRES: positive
  JobListener listener;         // may be empty
};

// The rules of jobs over any tables: every storage backend shares them, so that all of them agree.
// `clock` must outlive the store.
std::unique_ptr<JobStore> NewTableJobStore(std::unique_ptr<JobTransactor> transactor, Clock& clock,
                                           TableJobStoreOptions options);

}  // namespace plait
