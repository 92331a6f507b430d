#include "bench/gpu/line_file.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace plait::cuda {

LineFile::LineFile(int descriptor, std::string path)
    : descriptor_(descriptor), path_(std::move(path)) {}

LineFile::~LineFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

LineFile::LineFile(LineFile&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), path_(std::move(other.path_)) {}

LineFile& LineFile::operator=(LineFile&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(path_, other.path_);
  return *this;
}

Result<LineFile> LineFile::Open(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (descriptor < 0) {
    return Error{ErrorCode::kUnavailable, path + ": " + std::strerror(errno)};
  }
  LineFile file(descriptor, path);
  char last = '\n';
  const off_t size = lseek(descriptor, 0, SEEK_END);
  if (size > 0 && pread(descriptor, &last, 1, size - 1) == 1 && last != '\n') {
    PLAIT_CUDA_RETURN_IF_ERROR(file.Write(""));
  }
  return file;
}

Status LineFile::Write(const std::string& line) {
  const std::string text = line + "\n";
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t written = write(descriptor_, text.data() + done, text.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return Error{ErrorCode::kUnavailable, path_ + ": " + std::strerror(errno)};
    done += static_cast<size_t>(written);
  }
  return Ok();
}

}  // namespace plait::cuda
