#pragma once

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/digest.h"
#include "plait/v1/blob.pb.h"

// Digests as they travel. All functions are pure and thread-safe.
namespace plait::wire {

// The message may come from a stranger; `field` is its path from the request.
// Errors: InvalidArgument naming the field when the hash is not 64 lowercase hex digits or the size
// is negative. Whether there is such a blob, and who may read it, is another question.
absl::StatusOr<Digest> DigestFromProto(const v1::Digest& proto, absl::string_view field = "digest");

// The inverse; every Digest can be written.
v1::Digest DigestToProto(const Digest& digest);

}  // namespace plait::wire
