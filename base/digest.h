#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace plait {

// Names bytes by content: SHA-256 and size. Two blobs with equal digests are the same blob.
// A value type; copies are independent and safe to use from any thread.
//
// A digest is a name and no permission: who knows one need not have the bytes. The size is part of
// it so that a limit can be checked before a byte arrives.
struct Digest {
  std::string sha256_hex;  // 64 lowercase hexadecimal characters
  int64_t size_bytes = 0;

  // "<sha256_hex>/<size_bytes>", the form used in URLs, logs and the plan's text.
  std::string ToString() const;

  // The inverse of ToString.
  // Errors: InvalidArgument when `text` is not 64 lowercase hex digits, '/', and a size >= 0.
  static absl::StatusOr<Digest> Parse(absl::string_view text);

  friend auto operator<=>(const Digest&, const Digest&) = default;
};

template <typename H>
H AbslHashValue(H state, const Digest& digest) {
  return H::combine(std::move(state), digest.sha256_hex, digest.size_bytes);
}

// Reads all of `bytes` once. Cannot fail.
Digest DigestOf(absl::string_view bytes);

// The digest of bytes that arrive in pieces. Not thread-safe.
// For blobs that are never in memory as a whole.
class DigestBuilder {
 public:
  DigestBuilder();
  ~DigestBuilder();
  DigestBuilder(const DigestBuilder&) = delete;
  DigestBuilder& operator=(const DigestBuilder&) = delete;

  // Pieces of any size, in the order of the bytes; how they are cut does not change the digest.
  void Update(absl::string_view bytes);

  // REQUIRES: called once, last.
  Digest Finish();

 private:
  void* context_;  // EVP_MD_CTX
  int64_t size_bytes_ = 0;
};

}  // namespace plait
