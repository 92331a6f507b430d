#include "client/files/file.h"

#include <cerrno>
#include <filesystem>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "loading/model_file.h"
#include "proto/wire/error.h"

namespace plait {
namespace {

absl::Status FileError(absl::string_view path, int error) {
  return absl::ErrnoToStatus(error, path);
}

absl::Status WriteAll(int file, const std::string& path, absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = write(file, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return FileError(path, errno);
    bytes.remove_prefix(static_cast<size_t>(count));
  }
  return absl::OkStatus();
}

absl::Status WriteInto(const std::string& path, int flags, absl::string_view bytes) {
  const int file = open(path.c_str(), O_WRONLY | O_CLOEXEC | flags, 0666);
  if (file < 0) return FileError(path, errno);
  absl::Status status = WriteAll(file, path, bytes);
  if (close(file) != 0 && status.ok()) status = FileError(path, errno);
  return status;
}

// A device or a pipe, such as /dev/null: no file could stand in its place.
bool IsNoFile(const std::string& path) {
  struct stat info = {};
  return stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode);
}

// Of a link the file that it names, so that the link stays one.
std::string TargetOf(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_symlink(path, error)) return path;
  const std::filesystem::path target = std::filesystem::canonical(path, error);
  return error ? path : target.string();
}

}  // namespace

absl::Status CheckWritable(const std::string& path) {
  const std::string folder = (std::filesystem::path(TargetOf(path)).parent_path() / ".").string();
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) return FileError(path, EISDIR);
  const bool is_writable =
      IsNoFile(path) ? access(path.c_str(), W_OK) == 0 : access(folder.c_str(), W_OK | X_OK) == 0;
  return is_writable ? absl::OkStatus() : FileError(path, errno);
}

absl::Status WriteFile(const std::string& name, absl::string_view bytes) {
  if (IsNoFile(name)) return WriteInto(name, 0, bytes);
  const std::string path = TargetOf(name);
  // In the same folder: a rename works within one file system only.
  std::string temporary = absl::StrCat(path, ".XXXXXX");
  const int file = mkstemp(temporary.data());
  if (file < 0) return FileError(path, errno);
  // Synchronized before the rename: after a loss of power there are the old bytes or all of the
  // new.
  absl::Status status = WriteAll(file, path, bytes);
  if (status.ok() && fsync(file) != 0) status = FileError(path, errno);
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
  return WriteInto(path, O_CREAT | O_APPEND, bytes);
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
  absl::StatusOr<std::string> packed = ReadPackedModel(path);
  if (packed.ok() || !absl::IsInvalidArgument(packed.status())) return packed;
  return wire::WithReason(packed.status(), v1::ERROR_REASON_MODEL_REJECTED);
}

}  // namespace plait
