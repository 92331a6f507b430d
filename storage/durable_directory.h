#pragma once

#include <string>

#include "absl/status/status.h"

namespace plait {

// Waits until the names in a directory are on disk. One that may not be read is left out.
// Errors: those of the file system.
absl::Status SynchronizeDirectory(const std::string& path);

// Makes the directories of `path` that are missing, and waits until their names are on disk, also
// of those that are there: whoever made them may have died before.
// Errors: as SynchronizeDirectory.
absl::Status MakeDurableDirectory(const std::string& path);

}  // namespace plait
