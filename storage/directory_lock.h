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
  //
  // Jobs rest on it: at its start a daemon takes every RUNNING job for one that a dead daemon has
  // left, which is right only when no other one lives here.
  static absl::StatusOr<DirectoryLock> Acquire(const std::string& directory);

 private:
  explicit DirectoryLock(FileDescriptor file) : file_(std::move(file)) {}

  // The lock is the open file's: closing it gives the directory free.
  FileDescriptor file_;
};

}  // namespace plait
