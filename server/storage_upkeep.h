#pragma once

#include <atomic>
#include <thread>

#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "server/telemetry/metrics.h"
#include "storage/blob_garbage.h"
#include "storage/stores.h"

namespace plait {

// How much of the past a daemon keeps.
struct StorageUpkeepOptions {
  absl::Duration jobs_kept = absl::InfiniteDuration();  // from a job's end
  int64_t blobs_bytes_max = 0;                          // 0: no limit; see BlobRetention
  // By this object, whatever the wall clock does meanwhile. A daemon that lives for one job never
  // sees anything for an hour, and has no client that could be about to fetch it.
  absl::Duration blobs_seen_unused = absl::Hours(1);
};

// What a daemon does for its storage from time to time: counts what is stored, and deletes jobs
// that ended long ago, blobs that no job needs, uploads that nobody continued and the oldest of too
// many profiles. A fault of the storage is logged, and what was due is tried again when it is due
// again. It has a thread of its own, since a large store takes it minutes. Not thread-safe.
class StorageUpkeep {
 public:
  // What is passed must outlive this object.
  // Nothing happens until Start or the first Tick.
  StorageUpkeep(Stores& stores, Metrics& metrics, Clock& clock, const StorageUpkeepOptions& options)
      : stores_(stores), metrics_(metrics), clock_(clock), options_(options), sightings_(clock) {}
  // Ends the thread within a moment: what is due is left for the next start.
  ~StorageUpkeep();

  // Starts the thread, which calls Tick about once per second. Called once.
  void Start();

  // Does what is due. REQUIRES: Start was not called.
  void Tick();

 private:
  // Without an answer of the storage the gauges stay as they were.
  void Count();
  // Jobs before blobs: the blobs of a job that goes are not needed any more.
  void DeleteOldJobs();
  void CollectGarbage();

  Stores& stores_;
  Metrics& metrics_;
  Clock& clock_;
  const StorageUpkeepOptions options_;
  BlobSightings sightings_;
  // Due at the first Tick.
  absl::Duration next_count_ = -absl::InfiniteDuration();
  absl::Duration next_collection_ = -absl::InfiniteDuration();
  // Set under the mutex, so that the thread's wait for the next second ends at once.
  std::atomic<bool> stopping_ = false;
  absl::Mutex mutex_;
  std::thread thread_;
};

}  // namespace plait
