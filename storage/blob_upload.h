#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "base/digest.h"
#include "storage/blob_store.h"

// The checks that every blob store makes, and the errors that they give, so that a client cannot
// tell one backend from another. All functions are pure and thread-safe.
namespace plait {

// Whether NewBlobUpload made it: after a restart nobody continues it.
bool IsOwnUpload(const BlobUpload& upload);

// Whether `bytes` more bytes may be added at `offset` to an upload of `stored` bytes.
// Errors: ResourceExhausted (too large a blob), OutOfRange (offset), InvalidArgument (past the
// end).
absl::Status CheckAppend(const Digest& digest, int64_t stored, int64_t offset, int64_t bytes);

// Errors: OutOfRange when `offset` does not lie in the blob or at its end.
absl::Status CheckRead(const Digest& digest, int64_t offset);

// NotFound: no complete blob of that digest.
absl::Status BlobMissing(const Digest& digest);
// FailedPrecondition: only `stored` of its bytes are there.
absl::Status BlobUnfinished(const Digest& digest, int64_t stored);
// DataLoss (BLOB_CORRUPT): what arrived has another digest.
absl::Status BlobCorrupt(const Digest& announced, const Digest& actual);

}  // namespace plait
