#include "storage/blob_bytes.h"

#include "base/limits.h"
#include "base/status_macros.h"
#include "proto/wire/error.h"

namespace plait {

absl::StatusOr<Digest> PutBlob(BlobStore& store, absl::string_view bytes) {
  const Digest digest = DigestOf(bytes);
  PLAIT_ASSIGN_OR_RETURN(const bool is_there, store.Find(digest));
  if (is_there) return digest;
  const BlobUpload upload = NewBlobUpload(digest);
  PLAIT_RETURN_IF_ERROR(store.Append(upload, 0, bytes).status());
  PLAIT_RETURN_IF_ERROR(store.Finish(upload));
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
