#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/digest.h"
#include "base/file_descriptor.h"

namespace plait {

// How much of a blob is there.
struct BlobState {
  bool complete = false;
  int64_t bytes_stored = 0;  // the offset at which an upload continues
};

// A complete blob, as a listing shows it.
struct BlobEntry {
  Digest digest;
  absl::Time used_at;  // when it was stored or last asked for by Find
};

// Bytes by digest. A complete blob never changes; it is durable and has been checked against its
// digest. An unfinished upload belongs to the digest, not to who began it. Thread-safe. Every
// method can also fail with Unavailable (the storage failed).
class BlobStore {
 public:
  virtual ~BlobStore() = default;

  // Also notes that a complete blob is in use, which keeps it from being collected for a while.
  virtual absl::StatusOr<BlobState> Find(const Digest& digest) = 0;

  // Adds bytes at the end of an unfinished upload; nothing happens when the blob is complete.
  // Returns how many bytes are stored now.
  // Errors: OutOfRange when `offset` is not where the upload ends; InvalidArgument when the bytes
  // pass the digest's size; ResourceExhausted when the blob is too large or the disk is full.
  virtual absl::StatusOr<int64_t> Append(const Digest& digest, int64_t offset,
                                         absl::string_view bytes) = 0;

  // Checks the upload and makes the blob complete and durable; nothing happens when it is.
  // Errors: FailedPrecondition when bytes are missing; DataLoss (BLOB_CORRUPT) when the digest
  // differs: the upload is dropped then.
  virtual absl::Status Finish(const Digest& digest) = 0;

  // At most `bytes_max` bytes of a complete blob from `offset`; empty at its end.
  // Errors: NotFound; OutOfRange; DataLoss when the stored size is wrong.
  virtual absl::StatusOr<std::string> Read(const Digest& digest, int64_t offset,
                                           int64_t bytes_max) = 0;

  // A complete blob open for reading at offset 0, for a child process.
  // Errors: NotFound.
  virtual absl::StatusOr<FileDescriptor> Open(const Digest& digest) = 0;

  // All complete blobs, in no order.
  virtual absl::StatusOr<std::vector<BlobEntry>> List() = 0;

  // Removes a blob; nothing happens when it is not there. Open descriptors stay valid.
  virtual absl::Status Delete(const Digest& digest) = 0;

  // Removes the unfinished uploads that last grew before `grown_before`; returns how many.
  virtual absl::StatusOr<int> DropUploads(absl::Time grown_before) = 0;
};

}  // namespace plait
