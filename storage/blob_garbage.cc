#include "storage/blob_garbage.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/status_macros.h"

namespace plait {
namespace {

// 100 jobs: reports of some megabytes each are in memory at a time, and other readers wait for
// them.
constexpr int kJobsPerPage = 100;

// Who names a blob; the strongest claim counts.
enum class Claim { kNone, kEndedJob, kOpenJob };

struct ListedBlob {
  BlobEntry entry;
  Claim claim = Claim::kNone;
  bool is_deleted = false;
};

class BlobCollection {
 public:
  BlobCollection(BlobStore& blobs, JobStore& jobs, const BlobRetention& retention,
                 BlobSightings& sightings, const std::atomic<bool>& stopping)
      : blobs_(blobs),
        jobs_(jobs),
        retention_(retention),
        sightings_(sightings),
        stopping_(stopping) {}

  absl::StatusOr<CollectedBlobs> Run() {
    // The list first: what is stored while the jobs are read is not in it, and stays.
    PLAIT_ASSIGN_OR_RETURN(std::vector<BlobEntry> entries, blobs_.List());
    sightings_.Note(entries);
    for (BlobEntry& entry : entries) listed_.push_back({std::move(entry)});
    // Every claim is known before anything is deleted.
    PLAIT_RETURN_IF_ERROR(ReadClaims());
    if (stopping_) return collected_;
    PLAIT_RETURN_IF_ERROR(DeleteUnreferenced());
    PLAIT_RETURN_IF_ERROR(Evict());
    return collected_;
  }

 private:
  absl::Status ReadClaims() {
    absl::flat_hash_map<Digest, Claim*> claims;
    for (ListedBlob& blob : listed_) claims[blob.entry.digest] = &blob.claim;
    int64_t before = 0;
    do {
      PLAIT_ASSIGN_OR_RETURN(const BlobReferencePage page,
                             jobs_.ReferencedBlobs(before, kJobsPerPage));
      for (const BlobReference& reference : page.references) {
        const auto found = claims.find(reference.digest);
        if (found == claims.end()) continue;
        const Claim claim = reference.job_is_over ? Claim::kEndedJob : Claim::kOpenJob;
        *found->second = std::max(*found->second, claim);
      }
      before = page.next_before;
    } while (before != 0 && !stopping_);
    return absl::OkStatus();
  }

  absl::Status DeleteUnreferenced() {
    for (ListedBlob& blob : listed_) {
      if (stopping_) return absl::OkStatus();
      if (blob.claim != Claim::kNone || blob.entry.used_at >= retention_.unused_before) continue;
      PLAIT_RETURN_IF_ERROR(Delete(blob, retention_.unused_before, collected_.unreferenced));
    }
    return absl::OkStatus();
  }

  absl::Status Evict() {
    if (retention_.bytes_max == 0) return absl::OkStatus();
    PLAIT_ASSIGN_OR_RETURN(const UploadUsage uploads, blobs_.Uploads());
    int64_t bytes = uploads.bytes;
    std::vector<ListedBlob*> evictable;
    for (ListedBlob& blob : listed_) {
      if (blob.is_deleted) continue;
      bytes += blob.entry.digest.size_bytes;
      if (blob.claim != Claim::kOpenJob) evictable.push_back(&blob);
    }
    std::sort(evictable.begin(), evictable.end(), [](const ListedBlob* a, const ListedBlob* b) {
      return a->entry.used_at < b->entry.used_at;
    });
    for (ListedBlob* blob : evictable) {
      if (bytes <= retention_.bytes_max || stopping_) return absl::OkStatus();
      PLAIT_RETURN_IF_ERROR(Delete(*blob, retention_.evicted_before, collected_.evicted));
      if (blob->is_deleted) bytes -= blob->entry.digest.size_bytes;
    }
    return absl::OkStatus();
  }

  absl::Status Delete(ListedBlob& blob, absl::Time used_before, int64_t& count) {
    if (sightings_.UnusedFor(blob.entry.digest) < retention_.seen_unused_for) {
      return absl::OkStatus();
    }
    // Whoever has found it since it was listed may have named it in a job by now.
    PLAIT_ASSIGN_OR_RETURN(blob.is_deleted, blobs_.DeleteUnused(blob.entry.digest, used_before));
    if (!blob.is_deleted) return absl::OkStatus();
    ++count;
    return jobs_.DropGrants(blob.entry.digest, used_before);
  }

  BlobStore& blobs_;
  JobStore& jobs_;
  const BlobRetention& retention_;
  BlobSightings& sightings_;
  const std::atomic<bool>& stopping_;
  std::vector<ListedBlob> listed_;
  CollectedBlobs collected_;
};

}  // namespace

void BlobSightings::Note(const std::vector<BlobEntry>& listed) {
  absl::flat_hash_map<Digest, Sighting> noted;
  for (const BlobEntry& entry : listed) {
    const auto before = sightings_.find(entry.digest);
    const bool is_unused = before != sightings_.end() && before->second.used_at == entry.used_at;
    noted[entry.digest] = is_unused ? before->second : Sighting{entry.used_at, clock_.Monotonic()};
  }
  sightings_ = std::move(noted);
}

absl::Duration BlobSightings::UnusedFor(const Digest& digest) const {
  return clock_.Monotonic() - sightings_.at(digest).first_seen;
}

absl::StatusOr<CollectedBlobs> CollectBlobs(BlobStore& blobs, JobStore& jobs,
                                            const BlobRetention& retention,
                                            BlobSightings& sightings,
                                            const std::atomic<bool>& stopping) {
  return BlobCollection(blobs, jobs, retention, sightings, stopping).Run();
}

}  // namespace plait
