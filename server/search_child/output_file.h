#pragma once

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace plait {

// Appends all of `bytes` to a file that the daemon has opened; `what` names the file in the error.
// Errors: STORAGE_UNAVAILABLE when not all can be written. A file that would pass the limit of this
// process ends it by a signal.
absl::Status AppendToFile(int file, absl::string_view bytes, absl::string_view what);

}  // namespace plait
