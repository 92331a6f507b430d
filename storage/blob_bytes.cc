#include "storage/blob_bytes.h"

#include "base/limits.h"
#include "base/status_macros.h"
#include "proto/wire/error.h"

namespace plait {

absl::Status StoreBlob(BlobStore& store, const Digest& digest,
                       absl::FunctionRef<absl::Status(const BlobUpload&)> append) {
  const BlobUpload upload = NewBlobUpload(digest);
  absl::Status stored = append(upload);
  if (stored.ok()) stored = store.Finish(upload);
  // An upload that cannot be dropped now is dropped as one that nobody continues.
  if (!stored.ok()) store.Drop(upload).IgnoreError();
  return stored;
}

absl::StatusOr<Digest> PutBlob(BlobStore& store, absl::string_view bytes) {
  const Digest digest = DigestOf(bytes);
  PLAIT_ASSIGN_OR_RETURN(const bool is_there, store.Find(digest));
  if (is_there) return digest;
  PLAIT_RETURN_IF_ERROR(StoreBlob(store, digest, [&](const BlobUpload& upload) {
    return store.Append(upload, 0, bytes).status();
  }));
  return digest;
}

absl::StatusOr<std::string> ReadBlob(BlobStore& store, const Digest& digest) {
  std::string bytes;
  while (static_cast<int64_t>(bytes.size()) < digest.size_bytes) {
    PLAIT_ASSIGN_OR_RETURN(
        const std::string chunk,
        store.Read(digest, static_cast<int64_t>(bytes.size()), kBlobChunkBytesMax));
    // Otherwise a file that was cut would make this loop forever.
    if (chunk.empty()) {
      return wire::WithReason(absl::DataLossError(digest.ToString() + " ends early"),
                              v1::ERROR_REASON_STORAGE_UNAVAILABLE);
    }
    bytes += chunk;
  }
  return bytes;
}

}  // namespace plait
