#include "server/storage_upkeep.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "base/limits.h"
#include "server/telemetry/log.h"

namespace plait {
namespace {

// 10 s: counting reads the directory of blobs.
constexpr absl::Duration kCountInterval = absl::Seconds(10);
constexpr absl::Duration kCollectionInterval = absl::Hours(1);
// A client may upload a model today and submit its job tomorrow.
constexpr absl::Duration kUnusedTime = absl::Hours(24);
// A client fetches what its job has made within this time, also when the store is full.
constexpr absl::Duration kFetchTime = absl::Hours(1);
constexpr absl::Duration kTickInterval = absl::Seconds(1);
// 10 jobs: with up to kEventsPerJobMax events each, a transaction that others wait for stays short.
constexpr int kJobsPerDeletion = 10;

// Tells the log how many things an event of upkeep was about; nothing where there were none.
void Report(absl::string_view event, const absl::StatusOr<int64_t>& count) {
  if (!count.ok()) {
    LogWarning("storage.upkeep_failed",
               {{"at", std::string(event)}, {"error", count.status().ToString()}});
  } else if (*count > 0) {
    LogInfo(std::string(event), {{"count", absl::StrCat(*count)}});
  }
}

}  // namespace

StorageUpkeep::~StorageUpkeep() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  if (thread_.joinable()) thread_.join();
}

void StorageUpkeep::Start() {
  thread_ = std::thread([this] {
    const auto is_stopping = [this] { return stopping_.load(); };
    while (!stopping_) {
      Tick();
      absl::MutexLock lock(&mutex_);
      mutex_.AwaitWithTimeout(absl::Condition(&is_stopping), kTickInterval);
    }
  });
}

void StorageUpkeep::Tick() {
  const absl::Duration now = clock_.Monotonic();
  if (now >= next_collection_) {
    next_collection_ = now + kCollectionInterval;
    DeleteOldJobs();
    CollectGarbage();
  }
  if (now >= next_count_) {
    next_count_ = now + kCountInterval;
    Count();
  }
}

void StorageUpkeep::DeleteOldJobs() {
  if (options_.jobs_kept == absl::InfiniteDuration()) return;
  const absl::Time ended_before = clock_.Now() - options_.jobs_kept;
  int64_t deleted = 0;
  absl::StatusOr<int> count = kJobsPerDeletion;
  while (count.ok() && *count == kJobsPerDeletion && !stopping_) {
    count = stores_.jobs->DeleteEnded(ended_before, kJobsPerDeletion);
    deleted += count.value_or(0);
  }
  Report("jobs.deleted", count.ok() ? absl::StatusOr<int64_t>(deleted) : count.status());
}

void StorageUpkeep::CollectGarbage() {
  const absl::Time now = clock_.Now();
  const BlobRetention retention = {.seen_unused_for = options_.blobs_seen_unused,
                                   .unused_before = now - kUnusedTime,
                                   .bytes_max = options_.blobs_bytes_max,
                                   .evicted_before = now - kFetchTime};
  const absl::StatusOr<CollectedBlobs> collected =
      CollectBlobs(*stores_.blobs, *stores_.jobs, retention, sightings_, stopping_);
  if (collected.ok()) {
    Report("blobs.collected", collected->unreferenced);
    Report("blobs.evicted", collected->evicted);
  } else {
    Report("blobs.collected", collected.status());
  }
  if (stopping_) return;
  const absl::StatusOr<int> dropped = stores_.blobs->DropUploads(now - kUnusedTime);
  Report("uploads.dropped", dropped.ok() ? absl::StatusOr<int64_t>(*dropped) : dropped.status());
  Report("profiles.dropped", stores_.profiles->DropOldest(kDeviceProfilesMax, kAllProfilesMax));
}

void StorageUpkeep::Count() {
  const absl::StatusOr<int64_t> profiles = stores_.profiles->Count();
  const absl::StatusOr<std::vector<BlobEntry>> blobs = stores_.blobs->List();
  const absl::StatusOr<UploadUsage> uploads = stores_.blobs->Uploads();
  if (!profiles.ok() || !blobs.ok() || !uploads.ok()) return;
  int64_t bytes = uploads->bytes;
  for (const BlobEntry& blob : *blobs) bytes += blob.digest.size_bytes;
  metrics_.SetStored(*profiles, static_cast<int64_t>(blobs->size()), bytes);
}

}  // namespace plait
