#include "loading/model_file.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/file_descriptor.h"
#include "base/large_buffer.h"
#include "base/limits.h"
#include "base/machine_cores.h"
#include "base/parallel_for.h"
#include "base/status_macros.h"
#include "optimizer/onnx/external_data.h"
#include "optimizer/onnx/import.h"

namespace plait {
namespace {

absl::Status FileError(absl::string_view path, int error) {
  return absl::ErrnoToStatus(error, path);
}

absl::StatusOr<FileDescriptor> OpenFile(const std::string& path) {
  FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.is_open()) return FileError(path, errno);
  return file;
}

// What of a regular file is to be read, from `offset`; all of it for a negative size. Sizes are
// compared before memory is taken, and without a sum that could overflow.
absl::StatusOr<int64_t> SizeOfRange(int file, const std::string& path, int64_t offset,
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
  return size;
}

absl::Status ReadInto(int file, const std::string& path, int64_t offset, absl::Span<char> bytes) {
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t count = pread(file, bytes.data() + done, bytes.size() - done,
                                static_cast<off_t>(offset + static_cast<int64_t>(done)));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return FileError(path, errno);
    if (count == 0) return absl::InvalidArgumentError(absl::StrCat(path, ": became shorter"));
    done += static_cast<size_t>(count);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> ReadRange(int file, const std::string& path, int64_t offset,
                                      int64_t size) {
  PLAIT_ASSIGN_OR_RETURN(size, SizeOfRange(file, path, offset, size));
  std::string bytes(static_cast<size_t>(size), '\0');
  PLAIT_RETURN_IF_ERROR(ReadInto(file, path, offset, absl::MakeSpan(bytes)));
  return bytes;
}

// Writes a part of a buffer, which begins at an offset.
using FillPiece = absl::FunctionRef<absl::Status(int64_t offset, absl::Span<char> piece)>;

// A buffer that several threads fill, because its memory costs more than what is written there.
absl::StatusOr<LargeBuffer> FillByThreads(int64_t size, int threads, FillPiece fill) {
  constexpr int64_t kPieceBytes = 8 << 20;
  PLAIT_ASSIGN_OR_RETURN(LargeBuffer buffer, LargeBuffer::Allocate(size));
  const auto pieces = static_cast<int>((size + kPieceBytes - 1) / kPieceBytes);
  std::vector<absl::Status> statuses(static_cast<size_t>(pieces));
  ParallelFor(threads, pieces, [&](int piece) {
    const int64_t begin = piece * kPieceBytes;
    const auto bytes = static_cast<size_t>(std::min(kPieceBytes, size - begin));
    statuses[static_cast<size_t>(piece)] =
        fill(begin, absl::MakeSpan(buffer.data() + begin, bytes));
  });
  for (const absl::Status& status : statuses) PLAIT_RETURN_IF_ERROR(status);
  return buffer;
}

// Opens a file below `folder` one step at a time, so that no step can be a symbolic link.
absl::StatusOr<FileDescriptor> OpenBelow(const std::string& folder, const std::string& path) {
  FileDescriptor current(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!current.is_open()) return FileError(folder, errno);
  const std::vector<std::string> parts = absl::StrSplit(path, '/');
  for (size_t i = 0; i < parts.size(); ++i) {
    // Without waiting: opening a pipe that a stranger named would hang. SizeOfRange refuses what is
    // no regular file.
    const int kind = i + 1 < parts.size() ? O_DIRECTORY : O_NONBLOCK;
    FileDescriptor next(
        openat(current.number(), parts[i].c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | kind));
    const int error = errno;
    if (!next.is_open() && error == ELOOP) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": external data behind a symbolic link is not read"));
    }
    if (!next.is_open()) return FileError(path, error);
    current = std::move(next);
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

absl::StatusOr<std::string> PackModel(const std::string& path, std::string bytes) {
  const std::string parent = std::filesystem::path(path).parent_path().string();
  const std::string folder = parent.empty() ? std::string(1, '.') : parent;
  return PackExternalData(
      std::move(bytes), [&](const ExternalRange& range) -> absl::StatusOr<std::string> {
        PLAIT_ASSIGN_OR_RETURN(const FileDescriptor file, OpenBelow(folder, range.path));
        PLAIT_RETURN_IF_ERROR(CheckOnlyName(file.number(), range.path));
        return ReadRange(file.number(), range.path, range.offset_bytes, range.size_bytes);
      });
}

}  // namespace

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  PLAIT_ASSIGN_OR_RETURN(const FileDescriptor file, OpenFile(path));
  return ReadRange(file.number(), path, 0, -1);
}

absl::StatusOr<std::string> ReadPackedModel(const std::string& path) {
  PLAIT_ASSIGN_OR_RETURN(std::string bytes, ReadFile(path));
  absl::StatusOr<std::string> packed = PackModel(path, std::move(bytes));
  if (packed.ok()) return packed;
  return Annotate(packed.status(), path);
}

absl::StatusOr<Model> ImportModelFile(const std::string& path) {
  const int threads = MachineCores();
  PLAIT_ASSIGN_OR_RETURN(const FileDescriptor file, OpenFile(path));
  PLAIT_ASSIGN_OR_RETURN(const int64_t size, SizeOfRange(file.number(), path, 0, -1));
  const auto read = [&](int64_t offset, absl::Span<char> piece) {
    return ReadInto(file.number(), path, offset, piece);
  };
  PLAIT_ASSIGN_OR_RETURN(LargeBuffer bytes, FillByThreads(size, threads, read));
  const auto import = [&]() -> absl::StatusOr<Model> {
    PLAIT_ASSIGN_OR_RETURN(const bool has_more, HasExternalData(bytes.bytes()));
    if (!has_more) return ImportOnnx(std::move(bytes), threads);
    PLAIT_ASSIGN_OR_RETURN(const std::string packed, PackModel(path, std::string(bytes.bytes())));
    bytes = LargeBuffer();
    return ImportOnnx(packed);
  };
  absl::StatusOr<Model> model = import();
  if (!model.ok()) return Annotate(model.status(), path);
  return model;
}

absl::StatusOr<Model> ImportModelBytes(absl::string_view bytes) {
  const int threads = MachineCores();
  const auto copy = [&](int64_t offset, absl::Span<char> piece) {
    bytes.copy(piece.data(), piece.size(), static_cast<size_t>(offset));
    return absl::OkStatus();
  };
  PLAIT_ASSIGN_OR_RETURN(LargeBuffer copied,
                         FillByThreads(static_cast<int64_t>(bytes.size()), threads, copy));
  return ImportOnnx(std::move(copied), threads);
}

}  // namespace plait
