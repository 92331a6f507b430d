#pragma once

#include <atomic>
#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "storage/blob_store.h"
#include "storage/job_store.h"

namespace plait {

// Which blobs may stay. Those of jobs that are not over always do.
struct BlobRetention {
  // Others that no job names go when they were last used before this moment, which must leave a
  // client time between its upload and its job.
  absl::Time unused_before;
  // Of all blobs together. Above it, those that were used least recently go, also when a job that
  // is over names them, unless they were used since `evicted_before`: a client may be about to
  // fetch them.
  int64_t bytes_max = 0;  // 0: no limit
  absl::Time evicted_before = absl::InfinitePast();
};

// How many blobs were deleted.
struct CollectedBlobs {
  int64_t unreferenced = 0;
  int64_t evicted = 0;
};

// Deletes the blobs that may not stay. Stops early, and without an error, when `stopping` is set.
// Needs memory for the list of blobs and a page of jobs, however many jobs there are.
// REQUIRES: whoever makes a job name a blob has found or stored it a moment before: a job that
// comes while this runs is protected by that alone.
// Errors: those of the stores; what was deleted until then stays deleted, and the rest is found
// again by the next call.
absl::StatusOr<CollectedBlobs> CollectBlobs(BlobStore& blobs, JobStore& jobs,
                                            const BlobRetention& retention,
                                            const std::atomic<bool>& stopping);

}  // namespace plait
