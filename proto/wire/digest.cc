#include "proto/wire/digest.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "proto/wire/error.h"

namespace plait::wire {

absl::StatusOr<Digest> DigestFromProto(const v1::Digest& proto, absl::string_view field) {
  // Parse knows what a digest is; printing first means that there is only one such place.
  absl::StatusOr<Digest> digest =
      Digest::Parse(absl::StrCat(proto.sha256_hex(), "/", proto.size_bytes()));
  if (digest.ok()) return digest;
  return FieldError(field, absl::StripPrefix(digest.status().message(), "digest: "));
}

v1::Digest DigestToProto(const Digest& digest) {
  v1::Digest proto;
  proto.set_sha256_hex(digest.sha256_hex);
  proto.set_size_bytes(digest.size_bytes);
  return proto;
}

}  // namespace plait::wire
