#include "client/files/file.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/limits.h"
#include "base/status_macros.h"
#include "optimizer/onnx/external_data.h"
#include "proto/wire/error.h"

namespace plait {
namespace {

absl::Status FileError(absl::string_view path, int error) {
  return absl::ErrnoToStatus(error, path);
}

// Sizes are compared before memory is taken, and without a sum that could overflow.
absl::StatusOr<std::string> ReadRange(int file, const std::string& path, int64_t offset,
                                      int64_t size) {
  struct stat info = {};
  if (fstat(file, &info) != 0) return FileError(path, errno);
  if (!S_ISREG(info.st_mode)) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": is no regular file"));
  }
  if (size < 0) size = info.st_size;
  if (offset > info.st_size || size > info.st_size - offset) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": has ", info.st_size, " bytes, fewer than the model needs"));
  }
  if (size > kModelBytesMax) {
    return absl::ResourceExhaustedError(
        absl::StrCat(path, ": ", size, " bytes are more than the limit of ", kModelBytesMax));
  }
  std::string bytes(static_cast<size_t>(size), '\0');
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t count = pread(file, bytes.data() + done, bytes.size() - done,
                                static_cast<off_t>(offset + static_cast<int64_t>(done)));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return FileError(path, errno);
    if (count == 0) return absl::InvalidArgumentError(absl::StrCat(path, ": became shorter"));
    done += static_cast<size_t>(count);
  }
  return bytes;
}

// Opens a file below `folder` one step at a time, so that no step can be a symbolic link.
absl::StatusOr<int> OpenBelow(const std::string& folder, const std::string& path) {
  int current = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (current < 0) return FileError(folder, errno);
  const std::vector<std::string> parts = absl::StrSplit(path, '/');
  for (size_t i = 0; i < parts.size(); ++i) {
    // Without waiting: opening a pipe that a stranger named would hang. ReadRange refuses what is
    // no regular file.
    const int kind = i + 1 < parts.size() ? O_DIRECTORY : O_NONBLOCK;
    const int next = openat(current, parts[i].c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | kind);
    const int error = errno;
    close(current);
    if (next < 0 && error == ELOOP) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": external data behind a symbolic link is not read"));
    }
    if (next < 0) return FileError(path, error);
    current = next;
  }
  return current;
}

// A file's second name leads out of the folder just as a symbolic link does.
absl::Status CheckOnlyName(int file, const std::string& path) {
  struct stat info = {};
  if (fstat(file, &info) != 0) return FileError(path, errno);
  if (info.st_nlink <= 1) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(path, ": external data with several names (hard links) is not read; copy it"));
}

absl::Status WriteAll(int file, const std::string& path, absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = write(file, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return FileError(path, errno);
    bytes.remove_prefix(static_cast<size_t>(count));
  }
  return fsync(file) == 0 ? absl::OkStatus() : FileError(path, errno);
}

}  // namespace

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return FileError(path, errno);
  const auto closer = absl::MakeCleanup([&] { close(file); });
  return ReadRange(file, path, 0, -1);
}

absl::Status WriteFile(const std::string& path, absl::string_view bytes) {
  // In the same folder: a rename works within one file system only.
  std::string temporary = absl::StrCat(path, ".XXXXXX");
  const int file = mkstemp(temporary.data());
  if (file < 0) return FileError(path, errno);
  // Synchronized before the rename: after a loss of power there are the old bytes or all of the
  // new.
  absl::Status status = WriteAll(file, path, bytes);
  // mkstemp makes files for their owner only; results are files like any other.
  const mode_t mask = umask(0);
  umask(mask);
  if (status.ok() && fchmod(file, 0666 & ~mask) != 0) status = FileError(path, errno);
  close(file);
  if (status.ok() && rename(temporary.c_str(), path.c_str()) != 0) status = FileError(path, errno);
  if (!status.ok()) unlink(temporary.c_str());
  return status;
}

absl::Status AppendFile(const std::string& path, absl::string_view bytes) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file < 0) return FileError(path, errno);
  absl::Status status;
  while (status.ok() && !bytes.empty()) {
    const ssize_t count = write(file, bytes.data(), bytes.size());
    if (count < 0 && errno != EINTR) status = FileError(path, errno);
    if (count > 0) bytes.remove_prefix(static_cast<size_t>(count));
  }
  if (close(file) != 0 && status.ok()) status = FileError(path, errno);
  return status;
}

absl::Status MakeFolders(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  return error ? FileError(path, error.value()) : absl::OkStatus();
}

absl::Status MakePrivateFolder(const std::string& path) {
  const std::string parent = (std::filesystem::absolute(path) / "").parent_path().parent_path();
  PLAIT_RETURN_IF_ERROR(MakeFolders(parent));
  if (mkdir(path.c_str(), 0700) == 0) return absl::OkStatus();
  if (errno != EEXIST) return FileError(path, errno);
  struct stat around = {};
  struct stat name = {};
  struct stat folder = {};
  if (stat(parent.c_str(), &around) != 0) return FileError(parent, errno);
  if (lstat(path.c_str(), &name) != 0) return FileError(path, errno);
  if (stat(path.c_str(), &folder) != 0) return FileError(path, errno);
  if ((around.st_mode & S_IWOTH) == 0) return absl::OkStatus();
  // Of a link, too: whoever made it has chosen where the files go.
  if (name.st_uid == geteuid() && folder.st_uid == geteuid() &&
      (folder.st_mode & (S_IWGRP | S_IWOTH)) == 0) {
    return absl::OkStatus();
  }
  return absl::PermissionDeniedError(
      absl::StrCat(path,
                   ": somebody else owns it or may write into it (remove it, or choose "
                   "another folder)"));
}

absl::StatusOr<std::string> ReadModelFile(const std::string& path) {
  PLAIT_ASSIGN_OR_RETURN(std::string bytes, ReadFile(path));
  const std::string parent = std::filesystem::path(path).parent_path().string();
  const std::string folder = parent.empty() ? std::string(1, '.') : parent;
  const auto read = [&](const ExternalRange& range) -> absl::StatusOr<std::string> {
    PLAIT_ASSIGN_OR_RETURN(const int file, OpenBelow(folder, range.path));
    const auto closer = absl::MakeCleanup([&] { close(file); });
    PLAIT_RETURN_IF_ERROR(CheckOnlyName(file, range.path));
    return ReadRange(file, range.path, range.offset_bytes, range.size_bytes);
  };
  absl::StatusOr<std::string> packed = PackExternalData(std::move(bytes), read);
  if (packed.ok()) return packed;
  const absl::Status status = Annotate(packed.status(), path);
  if (!absl::IsInvalidArgument(status)) return status;
  return wire::WithReason(status, v1::ERROR_REASON_MODEL_REJECTED);
}

}  // namespace plait
