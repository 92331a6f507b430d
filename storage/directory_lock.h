#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "base/file_descriptor.h"

namespace plait {

// Keeps a second daemon away from a data directory for as long as it lives. The kernel releases it
// when the process dies, however that happens. Movable; not thread-safe.
class DirectoryLock {
 public:
  // Creates the directory when it is missing.
  // Errors: FailedPrecondition naming the directory and the process that holds it; Unavailable.
  static absl::StatusOr<DirectoryLock> Acquire(const std::string& directory);

 private:
  explicit DirectoryLock(FileDescriptor file) : file_(std::move(file)) {}

  FileDescriptor file_;
};

}  // namespace plait
