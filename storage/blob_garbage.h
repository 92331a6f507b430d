#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "storage/blob_store.h"

namespace plait {

// Deletes the blobs that are not in `referenced` and were last used before `used_before`, which
// must leave a client time between its upload and its job. Returns how many were deleted.
// REQUIRES: `referenced` was read after `used_before` was taken.
// Errors: those of the store; what was deleted until then stays deleted, and the rest is found
// again by the next call.
absl::StatusOr<int> DeleteUnreferencedBlobs(BlobStore& store, absl::Span<const Digest> referenced,
                                            absl::Time used_before);

}  // namespace plait
