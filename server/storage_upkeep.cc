#include "server/storage_upkeep.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "server/telemetry/log.h"
#include "storage/blob_garbage.h"

namespace plait {
namespace {

// 10 s: counting reads the directory of blobs.
constexpr absl::Duration kCountInterval = absl::Seconds(10);
constexpr absl::Duration kCollectionInterval = absl::Hours(1);
// A client may upload a model today and submit its job tomorrow.
constexpr absl::Duration kUnusedTime = absl::Hours(24);

}  // namespace

void StorageUpkeep::Tick() {
  const absl::Duration now = clock_.Monotonic();
  if (now >= next_collection_) {
    next_collection_ = now + kCollectionInterval;
    CollectGarbage();
  }
  if (now >= next_count_) {
    next_count_ = now + kCountInterval;
    Count();
  }
}

void StorageUpkeep::CollectGarbage() {
  const absl::Time used_before = clock_.Now() - kUnusedTime;
  const absl::StatusOr<std::vector<Digest>> referenced = stores_.jobs->ReferencedBlobs();
  // Without the list of what is needed nothing is deleted; the next hour tries again.
  if (!referenced.ok()) return;
  const absl::StatusOr<int> deleted =
      DeleteUnreferencedBlobs(*stores_.blobs, *referenced, used_before);
  if (!deleted.ok()) {
    LogWarning("blobs.collection_failed", {{"error", deleted.status().ToString()}});
  } else if (*deleted > 0) {
    LogInfo("blobs.collected", {{"blobs", absl::StrCat(*deleted)}});
  }
  const absl::StatusOr<int> dropped = stores_.blobs->DropUploads(used_before);
  if (!dropped.ok()) {
    LogWarning("uploads.collection_failed", {{"error", dropped.status().ToString()}});
  } else if (*dropped > 0) {
    LogInfo("uploads.dropped", {{"uploads", absl::StrCat(*dropped)}});
  }
}

void StorageUpkeep::Count() {
  const absl::StatusOr<int64_t> profiles = stores_.profiles->Count();
  const absl::StatusOr<std::vector<BlobEntry>> blobs = stores_.blobs->List();
  if (!profiles.ok() || !blobs.ok()) return;
  int64_t bytes = 0;
  for (const BlobEntry& blob : *blobs) bytes += blob.digest.size_bytes;
  metrics_.SetStored(*profiles, static_cast<int64_t>(blobs->size()), bytes);
}

}  // namespace plait
