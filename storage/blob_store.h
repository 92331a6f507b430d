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

// Bytes on their way to a blob. Two owners that upload the same blob know nothing of each other: a
// finished upload shows that its owner has the bytes.
struct BlobUpload {
  std::string owner;  // a tenant, or any name that nobody else uses
  Digest digest;      // of the whole

  auto operator<=>(const BlobUpload&) const = default;
};

// An upload of an owner of its own, which nobody continues.
BlobUpload NewBlobUpload(const Digest& digest);

// A complete blob, as a listing shows it.
struct BlobEntry {
  Digest digest;
  absl::Time used_at;  // when it was stored or last asked for by Find
};

// What unfinished uploads take, of all owners.
struct UploadUsage {
  int64_t count = 0;
  int64_t bytes = 0;  // those that have come
};

// Bytes by digest. A blob is complete: it never changes, is durable and has been checked against
// its digest. What is not complete is somebody's upload. Thread-safe. Every method can also fail
// with Unavailable (the storage failed).
class BlobStore {
 public:
  virtual ~BlobStore() = default;

  // Whether there is such a blob. Also notes that it is in use, which keeps it from being collected
  // for a while.
  virtual absl::StatusOr<bool> Find(const Digest& digest) = 0;

  // The offset at which the upload continues; 0 for one that has not begun.
  virtual absl::StatusOr<int64_t> BytesUploaded(const BlobUpload& upload) = 0;

  // Quick: asked before every chunk of an upload.
  virtual absl::StatusOr<UploadUsage> Uploads() = 0;

  // Adds bytes at the end of the upload, also of a blob that is there already. Returns how many
  // bytes are stored now. No bytes begin no upload.
  // Errors: OutOfRange when `offset` is not where the upload ends; InvalidArgument when the bytes
  // pass the digest's size; ResourceExhausted when the blob is too large or the disk is full.
  virtual absl::StatusOr<int64_t> Append(const BlobUpload& upload, int64_t offset,
                                         absl::string_view bytes) = 0;

  // Checks the upload and makes a durable blob of it, in place of an equal one if there is one.
  // Errors: FailedPrecondition when bytes are missing; DataLoss (BLOB_CORRUPT) when the digest
  // differs: the upload is dropped then.
  virtual absl::Status Finish(const BlobUpload& upload) = 0;

  // Removes an unfinished upload that nobody will continue; OK when there is none.
  virtual absl::Status Drop(const BlobUpload& upload) = 0;

  // At most `bytes_max` bytes of a complete blob from `offset`; empty at its end.
  // Errors: NotFound; OutOfRange; DataLoss when the stored size is wrong.
  virtual absl::StatusOr<std::string> Read(const Digest& digest, int64_t offset,
                                           int64_t bytes_max) = 0;

  // A complete blob open for reading at offset 0, for a child process.
  // Errors: NotFound.
  virtual absl::StatusOr<FileDescriptor> Open(const Digest& digest) = 0;

  // All complete blobs, in no order.
  virtual absl::StatusOr<std::vector<BlobEntry>> List() = 0;

  // Removes a blob that was last used before `used_before`; false when there is none. It is looked
  // at and removed in one step, so that whoever finds a blob can rely on it: for as long as it
  // takes until `used_before` has passed that moment. Open descriptors stay valid.
  virtual absl::StatusOr<bool> DeleteUnused(const Digest& digest, absl::Time used_before) = 0;

  // Removes the unfinished uploads that last grew before `grown_before`; returns how many.
  virtual absl::StatusOr<int> DropUploads(absl::Time grown_before) = 0;
};

}  // namespace plait
