#include "storage/blob_garbage.h"

#include "absl/container/flat_hash_set.h"
#include "base/status_macros.h"

namespace plait {

absl::StatusOr<int> DeleteUnreferencedBlobs(BlobStore& store, absl::Span<const Digest> referenced,
                                            absl::Time used_before) {
  const absl::flat_hash_set<Digest> kept(referenced.begin(), referenced.end());
  PLAIT_ASSIGN_OR_RETURN(const std::vector<BlobEntry> entries, store.List());
  int deleted = 0;
  for (const BlobEntry& entry : entries) {
    // Either is enough to stay: a blob is deleted when no job needs it and nobody has asked for it.
    if (kept.contains(entry.digest) || entry.used_at >= used_before) continue;
    // Whoever has found it since it was listed may have named it in a job by now.
    PLAIT_ASSIGN_OR_RETURN(const bool was_unused, store.DeleteUnused(entry.digest, used_before));
    deleted += was_unused ? 1 : 0;
  }
  return deleted;
}

}  // namespace plait
