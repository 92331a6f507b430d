#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "storage/blob_store.h"
#include "storage/job_store.h"

namespace plait {

// Since when this process has seen each blob unused, on the monotonic clock: the wall clock, by
// which the store knows when a blob was used, may be set forward by a day. Not thread-safe.
class BlobSightings {
 public:
  // `clock` must outlive this object.
  explicit BlobSightings(Clock& clock) : clock_(clock) {}

  // Takes note of a listing of all blobs, and forgets those that are not in it.
  void Note(const std::vector<BlobEntry>& listed);

  // How long ago a blob was first noted with the time of use that it had in the last listing.
  // REQUIRES: it was in that one.
  absl::Duration UnusedFor(const Digest& digest) const;

 private:
  struct Sighting {
    absl::Time used_at;
    absl::Duration first_seen;  // monotonic
  };

  Clock& clock_;
  absl::flat_hash_map<Digest, Sighting> sightings_;
};

// Which blobs may stay. Those of jobs that are not over always do.
struct BlobRetention {
  // None goes that was not seen unused for this long, whatever the times below say.
  absl::Duration seen_unused_for = absl::ZeroDuration();
  // Others that no job names go when they were last used before this moment, which must leave a
  // client time between its upload and its job.
  absl::Time unused_before;
  // Of all blobs and unfinished uploads together. Above it, those that were used least recently go,
  // also when a job that is over names them, unless they were used since `evicted_before`: a client
  // may be about to fetch them.
  int64_t bytes_max = 0;  // 0: no limit
  absl::Time evicted_before = absl::InfinitePast();
};

// How many blobs were deleted.
struct CollectedBlobs {
  int64_t unreferenced = 0;
  int64_t evicted = 0;
};

// Deletes the blobs that may not stay; `sightings` is of earlier calls. Stops early, and without an
// error, when `stopping` is set. Needs memory for the list of blobs and a page of jobs, however
// many jobs there are. REQUIRES: whoever makes a job name a blob has found or stored it a moment
// before: a job that comes while this runs is protected by that alone. Errors: those of the stores;
// what was deleted until then stays deleted, and the rest is found again by the next call.
absl::StatusOr<CollectedBlobs> CollectBlobs(BlobStore& blobs, JobStore& jobs,
                                            const BlobRetention& retention,
                                            BlobSightings& sightings,
                                            const std::atomic<bool>& stopping);

}  // namespace plait
