#include "storage/directory_lock.h"

#include <cerrno>
#include <filesystem>
#include <system_error>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "optimizer/base/status_macros.h"
#include "proto/wire/error.h"

namespace plait {
namespace {

std::string Holder(int file) {
  char text[32];
  const ssize_t length = pread(file, text, sizeof(text), 0);
  if (length <= 0) return "another process";
  return absl::StrCat("process ", absl::StripSuffix(absl::string_view(text, length), "\n"));
}

}  // namespace

absl::StatusOr<DirectoryLock> DirectoryLock::Acquire(const std::string& directory) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) return FileError(error.value(), absl::StrCat("data directory ", directory));
  const std::string path = directory + "/lock";
  FileDescriptor file(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!file.is_open()) return FileError(errno, path);
  if (flock(file.number(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return FileError(errno, path);
    return wire::Error(
        v1::ERROR_REASON_WRONG_STATE,
        absl::StrCat("data directory ", directory, ": is used by ", Holder(file.number()),
                     "; stop it or choose another directory"));
  }
  const std::string holder = absl::StrCat(getpid(), "\n");
  if (ftruncate(file.number(), 0) != 0 ||
      pwrite(file.number(), holder.data(), holder.size(), 0) < 0) {
    return FileError(errno, path);
  }
  return DirectoryLock(std::move(file));
}

}  // namespace plait
