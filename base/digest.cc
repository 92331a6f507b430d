#include "base/digest.h"

#include <openssl/evp.h>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace plait {

std::string Digest::ToString() const { return absl::StrCat(sha256_hex, "/", size_bytes); }

absl::StatusOr<Digest> Digest::Parse(absl::string_view text) {
  constexpr size_t kHexLength = 64;
  const absl::Status malformed = absl::InvalidArgumentError(
      absl::StrCat("digest: expected <64 lowercase hex digits>/<size in bytes>, got \"",
                   absl::CHexEscape(text.substr(0, 100)), "\""));
  if (text.size() < kHexLength + 2 || text[kHexLength] != '/') return malformed;
  Digest digest;
  // Uppercase is refused: one blob must have one name.
  for (char c : text.substr(0, kHexLength)) {
    if (!absl::ascii_isxdigit(c) || absl::ascii_isupper(c)) return malformed;
    digest.sha256_hex.push_back(c);
  }
  if (!absl::SimpleAtoi(text.substr(kHexLength + 1), &digest.size_bytes)) return malformed;
  if (digest.size_bytes < 0) return malformed;
  return digest;
}

Digest DigestOf(absl::string_view bytes) {
  DigestBuilder builder;
  builder.Update(bytes);
  return builder.Finish();
}

// OpenSSL can only fail here for want of memory.
DigestBuilder::DigestBuilder() : context_(EVP_MD_CTX_new()) {
  PLAIT_CHECK(context_ != nullptr);
  PLAIT_CHECK(EVP_DigestInit_ex(static_cast<EVP_MD_CTX*>(context_), EVP_sha256(), nullptr) == 1);
}

DigestBuilder::~DigestBuilder() { EVP_MD_CTX_free(static_cast<EVP_MD_CTX*>(context_)); }

void DigestBuilder::Update(absl::string_view bytes) {
  size_bytes_ += static_cast<int64_t>(bytes.size());
  PLAIT_CHECK(EVP_DigestUpdate(static_cast<EVP_MD_CTX*>(context_), bytes.data(), bytes.size()) ==
              1);
}

Digest DigestBuilder::Finish() {
  unsigned char sha256[EVP_MAX_MD_SIZE];
  unsigned int length = 0;
  PLAIT_CHECK(EVP_DigestFinal_ex(static_cast<EVP_MD_CTX*>(context_), sha256, &length) == 1);
  return Digest{
      absl::BytesToHexString(absl::string_view(reinterpret_cast<const char*>(sha256), length)),
      size_bytes_};
}

}  // namespace plait
