#include "storage/files/blob_store.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/synchronization/mutex.h"
#include "base/blob_path.h"
#include "base/limits.h"
#include "base/status_macros.h"
#include "proto/wire/error.h"
#include "storage/blob_upload.h"
#include "storage/durable_directory.h"
#include "storage/file_error.h"

namespace plait {
namespace {

// Marks an upload that Finish has taken away from Append. Left over only by a crash.
constexpr absl::string_view kCheckingSuffix = ".checking";
// Marks an upload of the daemon's own. Left over only by a crash, too.
constexpr absl::string_view kOwnSuffix = ".own";

// Follows no symbolic link: names are digests, and none of them is one.
absl::StatusOr<FileDescriptor> OpenFile(const std::string& path, int flags) {
  FileDescriptor file(open(path.c_str(), flags | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file.is_open()) return FileError(errno, path);
  return file;
}

absl::Status Synchronize(const std::string& path) {
  PLAIT_ASSIGN_OR_RETURN(const FileDescriptor file, OpenFile(path, O_RDONLY));
  if (fsync(file.number()) != 0) return FileError(errno, path);
  return absl::OkStatus();
}

// The size of a file, nothing when there is none.
absl::StatusOr<std::optional<int64_t>> SizeOf(const std::string& path) {
  struct stat info;
  if (stat(path.c_str(), &info) == 0) return static_cast<int64_t>(info.st_size);
  if (errno == ENOENT) return std::nullopt;
  return FileError(errno, path);
}

absl::StatusOr<Digest> DigestOfFile(const std::string& path) {
  PLAIT_ASSIGN_OR_RETURN(const FileDescriptor file, OpenFile(path, O_RDONLY));
  DigestBuilder builder;
  std::string buffer(kBlobChunkBytesMax, '\0');
  while (true) {
    const ssize_t count = read(file.number(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return FileError(errno, path);
    if (count == 0) return builder.Finish();
    builder.Update(absl::string_view(buffer.data(), count));
  }
}

absl::Status WriteAt(int file, int64_t offset, absl::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t count = pwrite(file, bytes.data(), bytes.size(), offset);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return FileError(errno, path);
    bytes.remove_prefix(count);
    offset += count;
  }
  return absl::OkStatus();
}

// A blob's life on disk: Append writes to uploads/OWNER-HASH-SIZE; Finish renames that to a name of
// its own, hashes it without the lock, synchronizes it and renames it into blobs/. A crash leaves
// an upload that can go on, a file that Prepare removes, or a whole blob; never half of one.
class FileBlobStore : public BlobStore {
 public:
  FileBlobStore(const std::string& directory, Clock& clock)
      : blobs_(BlobsFolder(directory)), uploads_(directory + "/uploads"), clock_(clock) {}

  absl::Status Prepare() {
    PLAIT_RETURN_IF_ERROR(MakeDurableDirectory(blobs_));
    PLAIT_RETURN_IF_ERROR(MakeDurableDirectory(uploads_));
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(uploads_, error)) {
      const std::string path = entry.path().string();
      if (absl::EndsWith(path, kCheckingSuffix) || absl::EndsWith(path, kOwnSuffix)) {
        std::filesystem::remove(path, error);
      } else {
        PLAIT_ASSIGN_OR_RETURN(const std::optional<int64_t> size, SizeOf(path));
        absl::MutexLock lock(&mutex_);
        Note(path, size);
      }
    }
    if (error) return FileError(error.value(), uploads_);
    return absl::OkStatus();
  }

  absl::StatusOr<bool> Find(const Digest& digest) override {
    // With the lock, so that the blob cannot be deleted between the two.
    absl::MutexLock lock(&mutex_);
    PLAIT_ASSIGN_OR_RETURN(const std::optional<int64_t> size, SizeOf(PathOf(digest)));
    // One that a damaged disk has cut is not there, so that whoever has the bytes brings them
    // again.
    if (size != digest.size_bytes) return false;
    // The time of the last use is the file's own, so that it survives a restart.
    PLAIT_RETURN_IF_ERROR(Touch(PathOf(digest)));
    return true;
  }

  absl::StatusOr<int64_t> BytesUploaded(const BlobUpload& upload) override {
    PLAIT_ASSIGN_OR_RETURN(const std::optional<int64_t> stored, SizeOf(UploadPath(upload)));
    return stored.value_or(0);
  }

  absl::StatusOr<UploadUsage> Uploads() override {
    absl::MutexLock lock(&mutex_);
    return UploadUsage{static_cast<int64_t>(unfinished_.size()), unfinished_bytes_};
  }

  absl::StatusOr<int64_t> Append(const BlobUpload& upload, int64_t offset,
                                 absl::string_view bytes) override {
    absl::MutexLock lock(&mutex_);
    const std::string path = UploadPath(upload);
    PLAIT_ASSIGN_OR_RETURN(const std::optional<int64_t> stored, SizeOf(path));
    PLAIT_RETURN_IF_ERROR(CheckAppend(upload.digest, stored.value_or(0), offset, bytes.size()));
    if (bytes.empty()) return offset;
    PLAIT_ASSIGN_OR_RETURN(const FileDescriptor file, OpenFile(path, O_WRONLY | O_CREAT));
    const absl::Status written = WriteAt(file.number(), offset, bytes, path);
    // Of a full disk some of them are there.
    PLAIT_ASSIGN_OR_RETURN(const std::optional<int64_t> grown, SizeOf(path));
    Note(path, grown);
    PLAIT_RETURN_IF_ERROR(written);
    // By our clock and not the kernel's, so that DropUploads compares like with like.
    PLAIT_RETURN_IF_ERROR(Touch(path));
    return offset + static_cast<int64_t>(bytes.size());
  }

  absl::Status Finish(const BlobUpload& upload) override {
    PLAIT_ASSIGN_OR_RETURN(const std::string checking, TakeUpload(upload));
    absl::Status status = CheckAndPublish(upload.digest, checking);
    // Dropped, whatever failed: bytes that are not what was announced are of no use.
    if (!status.ok()) unlink(checking.c_str());
    return status;
  }

  absl::Status Drop(const BlobUpload& upload) override {
    absl::MutexLock lock(&mutex_);
    const std::string path = UploadPath(upload);
    if (unlink(path.c_str()) != 0 && errno != ENOENT) return FileError(errno, path);
    Note(path, std::nullopt);
    return absl::OkStatus();
  }

  absl::StatusOr<std::string> Read(const Digest& digest, int64_t offset,
                                   int64_t bytes_max) override {
    PLAIT_ASSIGN_OR_RETURN(const FileDescriptor file, Open(digest));
    PLAIT_RETURN_IF_ERROR(CheckRead(digest, offset));
    std::string bytes(std::min(bytes_max, digest.size_bytes - offset), '\0');
    size_t filled = 0;
    while (filled < bytes.size()) {
      const ssize_t count =
          pread(file.number(), bytes.data() + filled, bytes.size() - filled, offset + filled);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return FileError(errno, PathOf(digest));
      // The size was right when the file was opened, so it was cut meanwhile.
      if (count == 0) return Damaged(digest);
      filled += count;
    }
    return bytes;
  }

  absl::StatusOr<FileDescriptor> Open(const Digest& digest) override {
    absl::StatusOr<FileDescriptor> file = OpenFile(PathOf(digest), O_RDONLY);
    if (absl::IsNotFound(file.status())) return BlobMissing(digest);
    PLAIT_RETURN_IF_ERROR(file.status());
    struct stat info;
    if (fstat(file->number(), &info) != 0) return FileError(errno, PathOf(digest));
    if (info.st_size != digest.size_bytes) return Damaged(digest);
    return file;
  }

  absl::StatusOr<std::vector<BlobEntry>> List() override {
    std::vector<BlobEntry> entries;
    std::error_code error;
    std::filesystem::recursive_directory_iterator files(blobs_, error);
    for (; !error && files != std::filesystem::recursive_directory_iterator();
         files.increment(error)) {
      const absl::StatusOr<Digest> digest =
          Digest::Parse(absl::StrReplaceAll(files->path().filename().string(), {{"-", "/"}}));
      struct stat info;
      // A shard's folder, or a file that was deleted meanwhile.
      if (!digest.ok() || stat(files->path().c_str(), &info) != 0) continue;
      entries.push_back({*digest, absl::TimeFromTimespec(info.st_mtim)});
    }
    if (error) return FileError(error.value(), blobs_);
    return entries;
  }

  absl::StatusOr<bool> DeleteUnused(const Digest& digest, absl::Time used_before) override {
    absl::MutexLock lock(&mutex_);
    const std::string path = PathOf(digest);
    struct stat info;
    if (stat(path.c_str(), &info) != 0) {
      if (errno == ENOENT) return false;
      return FileError(errno, path);
    }
    if (absl::TimeFromTimespec(info.st_mtim) >= used_before) return false;
    // Not synchronized: a deleted blob that a loss of power brings back is garbage for the next
    // round.
    if (unlink(path.c_str()) != 0) return FileError(errno, path);
    return true;
  }

  absl::StatusOr<int> DropUploads(absl::Time grown_before) override {
    absl::MutexLock lock(&mutex_);
    int dropped = 0;
    std::error_code error;
    std::filesystem::directory_iterator files(uploads_, error);
    for (; !error && files != std::filesystem::directory_iterator(); files.increment(error)) {
      const std::string path = files->path().string();
      struct stat info;
      // An upload that Finish is hashing right now belongs to it.
      if (absl::EndsWith(path, kCheckingSuffix) || stat(path.c_str(), &info) != 0) continue;
      if (absl::TimeFromTimespec(info.st_mtim) >= grown_before) continue;
      if (unlink(path.c_str()) != 0) return FileError(errno, path);
      Note(path, std::nullopt);
      ++dropped;
    }
    if (error) return FileError(error.value(), uploads_);
    return dropped;
  }

 private:
  std::string PathOf(const Digest& digest) const { return BlobPath(blobs_, digest); }
  std::string Shard(const Digest& digest) const {
    return std::filesystem::path(PathOf(digest)).parent_path();
  }
  // The owner's name by its digest: it may be longer than a file's name, and have slashes in it.
  std::string UploadPath(const BlobUpload& upload) const {
    return absl::StrCat(uploads_, "/", DigestOf(upload.owner).sha256_hex.substr(0, 32), "-",
                        upload.digest.sha256_hex, "-", upload.digest.size_bytes,
                        IsOwnUpload(upload) ? kOwnSuffix : "");
  }

  static absl::Status Damaged(const Digest& digest) {
    return wire::Error(v1::ERROR_REASON_BLOB_CORRUPT,
                       absl::StrCat("blob ", digest.ToString(),
                                    ": its file has another size; delete it and upload it again"));
  }

  // The size of an upload's file, nothing when it is gone.
  void Note(const std::string& path, std::optional<int64_t> bytes)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (const auto before = unfinished_.find(path); before != unfinished_.end()) {
      unfinished_bytes_ -= before->second;
      unfinished_.erase(before);
    }
    if (!bytes.has_value()) return;
    unfinished_[path] = *bytes;
    unfinished_bytes_ += *bytes;
  }

  absl::Status Touch(const std::string& path) {
    const timespec now = absl::ToTimespec(clock_.Now());
    const timespec times[] = {now, now};
    if (utimensat(AT_FDCWD, path.c_str(), times, 0) != 0) return FileError(errno, path);
    return absl::OkStatus();
  }

  // Renames a full upload, so that hashing it needs no lock.
  absl::StatusOr<std::string> TakeUpload(const BlobUpload& upload) {
    absl::MutexLock lock(&mutex_);
    const std::string path = UploadPath(upload);
    PLAIT_ASSIGN_OR_RETURN(std::optional<int64_t> stored, SizeOf(path));
    // Nobody appends to an empty blob, so its upload may not exist yet.
    if (!stored.has_value() && upload.digest.size_bytes == 0) {
      PLAIT_RETURN_IF_ERROR(OpenFile(path, O_WRONLY | O_CREAT).status());
      stored = 0;
    }
    if (stored.value_or(0) != upload.digest.size_bytes || !stored.has_value()) {
      return BlobUnfinished(upload.digest, stored.value_or(0));
    }
    std::string checking = absl::StrCat(path, ".", ++checks_, kCheckingSuffix);
    if (rename(path.c_str(), checking.c_str()) != 0) return FileError(errno, path);
    Note(path, std::nullopt);
    return checking;
  }

  absl::Status MakeShard(const Digest& digest) {
    const std::string shard = Shard(digest);
    {
      absl::MutexLock lock(&mutex_);
      if (durable_shards_.contains(shard)) return absl::OkStatus();
    }
    std::error_code error;
    std::filesystem::create_directory(shard, error);
    if (error) return FileError(error.value(), shard);
    // Also when it was there: whoever made it may still wait for this, or have died before it.
    PLAIT_RETURN_IF_ERROR(SynchronizeDirectory(blobs_));
    absl::MutexLock lock(&mutex_);
    durable_shards_.insert(shard);
    return absl::OkStatus();
  }

  absl::Status CheckAndPublish(const Digest& digest, const std::string& checking) {
    PLAIT_ASSIGN_OR_RETURN(const Digest actual, DigestOfFile(checking));
    if (actual != digest) return BlobCorrupt(digest, actual);
    // Bytes before their name, and the name's folder after it: the order in which a loss of power
    // can do no harm.
    PLAIT_RETURN_IF_ERROR(Synchronize(checking));
    PLAIT_RETURN_IF_ERROR(MakeShard(digest));
    // While nobody else knows the file: a blob is never seen with the time of its upload.
    PLAIT_RETURN_IF_ERROR(Touch(checking));
    const std::string path = PathOf(digest);
    if (rename(checking.c_str(), path.c_str()) != 0) return FileError(errno, path);
    return SynchronizeDirectory(Shard(digest));
  }

  const std::string blobs_;
  const std::string uploads_;
  Clock& clock_;
  // Held while an upload's file changes and while it is decided whether a blob stays, never while
  // one is hashed or read.
  absl::Mutex mutex_;
  int64_t checks_ ABSL_GUARDED_BY(mutex_) = 0;
  // Sizes of the uploads' files by their paths, and the sum.
  std::map<std::string, int64_t> unfinished_ ABSL_GUARDED_BY(mutex_);
  int64_t unfinished_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  // Folders whose names are known to be on disk.
  std::set<std::string> durable_shards_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

absl::StatusOr<std::unique_ptr<BlobStore>> OpenFileBlobStore(const std::string& directory,
                                                             Clock& clock) {
  auto store = std::make_unique<FileBlobStore>(directory, clock);
  PLAIT_RETURN_IF_ERROR(store->Prepare());
  return std::unique_ptr<BlobStore>(std::move(store));
}

}  // namespace plait
