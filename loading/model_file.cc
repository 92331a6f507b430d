#include "loading/model_file.h"

#include <cerrno>
#include <filesystem>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "base/limits.h"
#include "base/status_macros.h"
#include "optimizer/onnx/external_data.h"

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

}  // namespace

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return FileError(path, errno);
  const auto closer = absl::MakeCleanup([&] { close(file); });
  return ReadRange(file, path, 0, -1);
}

absl::StatusOr<std::string> ReadPackedModel(const std::string& path) {
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
  return Annotate(packed.status(), path);
}

}  // namespace plait
