#pragma once

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "optimizer/kernels/profile_key.h"

namespace plait {

// The inverse of ProfileKey::ToString. The text comes from another process. Pure and thread-safe.
// Errors: InvalidArgument naming the field that is missing or malformed.
absl::StatusOr<ProfileKey> ParseProfileKey(absl::string_view text);

}  // namespace plait
