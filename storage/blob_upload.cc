#include "storage/blob_upload.h"

#include <random>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/limits.h"
#include "proto/wire/error.h"

namespace plait {
namespace {

// No tenant's name has a space in it.
constexpr absl::string_view kOwnOwner = "plaitd ";

std::string Named(const Digest& digest) { return absl::StrCat("blob ", digest.ToString()); }

absl::Status OutOfRange(const Digest& digest, absl::string_view message) {
  return wire::WithReason(absl::OutOfRangeError(absl::StrCat(Named(digest), ": ", message)),
                          v1::ERROR_REASON_INVALID_REQUEST);
}

}  // namespace

BlobUpload NewBlobUpload(const Digest& digest) {
  std::random_device device;
  return {absl::StrFormat("%s%08x%08x%08x%08x", kOwnOwner, device(), device(), device(), device()),
          digest};
}

bool IsOwnUpload(const BlobUpload& upload) { return absl::StartsWith(upload.owner, kOwnOwner); }

absl::Status CheckAppend(const Digest& digest, int64_t stored, int64_t offset, int64_t bytes) {
  // By the announced size, before a byte is stored.
  if (digest.size_bytes > kModelBytesMax) {
    return wire::Error(
        v1::ERROR_REASON_LIMIT_EXCEEDED,
        absl::StrCat(Named(digest), ": at most ", kModelBytesMax, " bytes are allowed"));
  }
  if (offset != stored) {
    return OutOfRange(digest,
                      absl::StrCat("the upload continues at ", stored, ", not at ", offset));
  }
  // Not stored + bytes, which could overflow.
  if (bytes > digest.size_bytes - stored) {
    return wire::Error(v1::ERROR_REASON_INVALID_REQUEST,
                       absl::StrCat(Named(digest), ": more bytes than its size arrived"));
  }
  return absl::OkStatus();
}

absl::Status CheckRead(const Digest& digest, int64_t offset) {
  if (offset >= 0 && offset <= digest.size_bytes) return absl::OkStatus();
  return OutOfRange(digest, absl::StrCat("has no offset ", offset));
}

absl::Status BlobMissing(const Digest& digest) {
  return wire::Error(v1::ERROR_REASON_NOT_FOUND, absl::StrCat(Named(digest), ": not found"));
}

absl::Status BlobUnfinished(const Digest& digest, int64_t stored) {
  return wire::Error(v1::ERROR_REASON_WRONG_STATE,
                     absl::StrCat(Named(digest), ": the upload stopped at ", stored, " bytes"));
}

absl::Status BlobCorrupt(const Digest& announced, const Digest& actual) {
  return wire::Error(v1::ERROR_REASON_BLOB_CORRUPT,
                     absl::StrCat(Named(announced), ": the bytes have the digest ",
                                  actual.ToString(), "; upload it again"));
}

}  // namespace plait
