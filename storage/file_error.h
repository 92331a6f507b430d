#pragma once

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace plait {

// What the operating system said in errno about the thing named by `what`: ResourceExhausted when
// the disk or quota is full, NotFound for a missing file, else Unavailable (STORAGE_UNAVAILABLE).
// REQUIRES: `error_number` is not 0, and was read before another call could change errno.
absl::Status FileError(int error_number, absl::string_view what);

}  // namespace plait
