#include "gpu_worker/backends/cuda/run/kernel_folder.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "base/file_descriptor.h"

namespace plait::cuda {
namespace {

constexpr char kSuffix[] = ".kernel";

// What precedes the code in its file. Says for which form of file it was written, too.
std::string HeaderOf(absl::string_view code) {
  return absl::StrCat("plait kernel 1 ", DigestOf(code).ToString(), "\n");
}

std::optional<std::string> ReadAll(int file) {
  struct stat about = {};
  if (fstat(file, &about) != 0 || !S_ISREG(about.st_mode)) return std::nullopt;
  std::string bytes(static_cast<size_t>(about.st_size), '\0');
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t count = read(file, bytes.data() + done, bytes.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return std::nullopt;
    done += static_cast<size_t>(count);
  }
  return bytes;
}

bool WriteAll(int file, absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = write(file, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    bytes.remove_prefix(static_cast<size_t>(count));
  }
  return true;
}

struct KeptFile {
  std::filesystem::file_time_type used;
  std::filesystem::path path;
  int64_t bytes = 0;
};

// Files may go meanwhile, by another process.
std::vector<KeptFile> FilesIn(const std::string& path) {
  std::vector<KeptFile> files;
  std::error_code error;
  for (auto entry = std::filesystem::directory_iterator(path, error);
       !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    std::error_code gone;
    KeptFile file{entry->last_write_time(gone), entry->path()};
    if (!gone) file.bytes = static_cast<int64_t>(entry->file_size(gone));
    // Each of a file's names counts for its part.
    if (!gone) file.bytes /= std::max<int64_t>(1, entry->hard_link_count(gone));
    if (!gone) files.push_back(std::move(file));
  }
  return files;
}

}  // namespace

absl::StatusOr<std::unique_ptr<KernelFolder>> KernelFolder::Open(const std::string& path,
                                                                 int64_t bytes_max) {
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    return absl::ErrnoToStatus(errno, absl::StrCat("kernel cache ", path));
  }
  struct stat about = {};
  if (lstat(path.c_str(), &about) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("kernel cache ", path));
  }
  const bool is_own = S_ISDIR(about.st_mode) && about.st_uid == geteuid();
  if (!is_own || (about.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("kernel cache ", path,
                     ": has to be a folder of this user that no other may write to, since what "
                     "lies in it is run"));
  }
  auto folder = std::unique_ptr<KernelFolder>(new KernelFolder(path, bytes_max));
  absl::MutexLock lock(&folder->mutex_);
  folder->MakeRoom();
  return folder;
}

std::optional<std::string> KernelFolder::Find(const std::string& key) {
  const std::string path = PathOf(key);
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!file.is_open()) return std::nullopt;
  const std::optional<std::string> bytes = ReadAll(file.number());
  if (bytes.has_value()) {
    const size_t end = bytes->find('\n');
    const absl::string_view code =
        end == std::string::npos ? "" : absl::string_view(*bytes).substr(end + 1);
    if (!code.empty() && absl::StartsWith(*bytes, HeaderOf(code))) {
      // Used now. Where that cannot be said it goes sooner.
      static_cast<void>(futimens(file.number(), nullptr));
      return std::string(code);
    }
  }
  unlink(path.c_str());
  return std::nullopt;
}

void KernelFolder::Keep(const std::vector<std::string>& keys, const std::string& code) {
  // Gets its names when it is whole: nobody finds half of it. Not synchronized, since the digest
  // tells what a loss of power has left.
  std::string temporary = absl::StrCat(path_, "/new.XXXXXX");
  const FileDescriptor file(mkostemp(temporary.data(), O_CLOEXEC));
  if (!file.is_open()) return;
  const std::string header = HeaderOf(code);
  const bool is_whole = WriteAll(file.number(), header) && WriteAll(file.number(), code);
  for (const std::string& key : keys) {
    const std::string path = PathOf(key);
    if (!is_whole) break;
    unlink(path.c_str());
    static_cast<void>(link(temporary.c_str(), path.c_str()));
  }
  unlink(temporary.c_str());
  if (!is_whole) return;
  absl::MutexLock lock(&mutex_);
  bytes_ += static_cast<int64_t>(header.size() + code.size());
  if (bytes_ > bytes_max_) MakeRoom();
}

std::string KernelFolder::PathOf(const std::string& key) const {
  return absl::StrCat(path_, "/", DigestOf(key).sha256_hex, kSuffix);
}

void KernelFolder::MakeRoom() {
  std::vector<KeptFile> files = FilesIn(path_);
  bytes_ = 0;
  for (const KeptFile& file : files) bytes_ += file.bytes;
  if (bytes_ <= bytes_max_) return;
  std::sort(files.begin(), files.end(),
            [](const KeptFile& one, const KeptFile& other) { return one.used < other.used; });
  for (const KeptFile& file : files) {
    if (bytes_ <= bytes_max_ / 2) return;
    // What a process left that ended while it wrote goes like any other.
    if (unlink(file.path.c_str()) == 0 || errno == ENOENT) bytes_ -= file.bytes;
  }
}

}  // namespace plait::cuda
