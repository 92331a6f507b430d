#include "storage/durable_directory.h"

#include <cerrno>
#include <filesystem>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

#include "base/file_descriptor.h"
#include "base/status_macros.h"
#include "storage/file_error.h"

namespace plait {

absl::Status SynchronizeDirectory(const std::string& path) {
  const FileDescriptor directory(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // Not ours to read, so neither ours to make: an operator's folder around the data directory.
  if (!directory.is_open() && errno == EACCES) return absl::OkStatus();
  if (!directory.is_open() || fsync(directory.number()) != 0) return FileError(errno, path);
  return absl::OkStatus();
}

absl::Status MakeDurableDirectory(const std::string& path) {
  std::error_code error;
  // Absolute, so that there is a parent, and without a '/' at its end, which would hide it.
  const std::filesystem::path whole = (std::filesystem::absolute(path) / "").parent_path();
  std::filesystem::path topmost = whole;
  // From the last directory that is there, each new name lies in the one before.
  while (!std::filesystem::exists(topmost.parent_path(), error) && !error) {
    topmost = topmost.parent_path();
  }
  std::filesystem::create_directories(whole, error);
  if (error) return FileError(error.value(), path);
  for (std::filesystem::path made = whole;; made = made.parent_path()) {
    PLAIT_RETURN_IF_ERROR(SynchronizeDirectory(made.parent_path().string()));
    if (made == topmost) return absl::OkStatus();
  }
}

}  // namespace plait
