#include "storage/memory/blob_store.h"

#include <cerrno>
#include <map>

#include <sys/mman.h>
#include <unistd.h>

#include "absl/synchronization/mutex.h"
#include "base/status_macros.h"
#include "storage/blob_upload.h"
#include "storage/file_error.h"

namespace plait {
namespace {

// A complete blob, checked against its digest.
struct StoredBlob {
  std::string bytes;
  absl::Time used_at;
};

// What has arrived of an upload.
struct Arrived {
  std::string bytes;
  absl::Time grown_at;
};

class MemoryBlobStore : public BlobStore {
 public:
  explicit MemoryBlobStore(Clock& clock) : clock_(clock) {}

  absl::StatusOr<bool> Find(const Digest& digest) override {
    // One lock for all blobs: this store is for tests, where nobody waits for it.
    absl::MutexLock lock(&mutex_);
    const auto blob = blobs_.find(digest);
    if (blob == blobs_.end()) return false;
    blob->second.used_at = clock_.Now();
    return true;
  }

  absl::StatusOr<int64_t> BytesUploaded(const BlobUpload& upload) override {
    absl::MutexLock lock(&mutex_);
    return BytesArrived(upload);
  }

  absl::StatusOr<UploadUsage> Uploads() override {
    absl::MutexLock lock(&mutex_);
    UploadUsage usage;
    for (const auto& [upload, arrived] : uploads_) {
      usage.count += 1;
      usage.bytes += static_cast<int64_t>(arrived.bytes.size());
    }
    return usage;
  }

  absl::StatusOr<int64_t> Append(const BlobUpload& upload, int64_t offset,
                                 absl::string_view bytes) override {
    absl::MutexLock lock(&mutex_);
    PLAIT_RETURN_IF_ERROR(CheckAppend(upload.digest, BytesArrived(upload), offset, bytes.size()));
    if (bytes.empty()) return offset;
    Arrived& arrived = uploads_[upload];
    arrived.bytes.append(bytes.data(), bytes.size());
    arrived.grown_at = clock_.Now();
    return static_cast<int64_t>(arrived.bytes.size());
  }

  absl::Status Finish(const BlobUpload& upload) override {
    absl::MutexLock lock(&mutex_);
    const Digest& digest = upload.digest;
    // No upload is an upload of nothing: right for the empty blob only.
    std::string bytes;
    if (const auto arrived = uploads_.find(upload); arrived != uploads_.end()) {
      bytes = arrived->second.bytes;
    }
    if (static_cast<int64_t>(bytes.size()) != digest.size_bytes) {
      return BlobUnfinished(digest, bytes.size());
    }
    // Before the check: what turns out wrong cannot be continued.
    uploads_.erase(upload);
    if (const Digest actual = DigestOf(bytes); actual != digest) {
      return BlobCorrupt(digest, actual);
    }
    blobs_[digest] = {std::move(bytes), clock_.Now()};
    return absl::OkStatus();
  }

  absl::Status Drop(const BlobUpload& upload) override {
    absl::MutexLock lock(&mutex_);
    uploads_.erase(upload);
    return absl::OkStatus();
  }

  absl::StatusOr<std::string> Read(const Digest& digest, int64_t offset,
                                   int64_t bytes_max) override {
    absl::MutexLock lock(&mutex_);
    const auto blob = blobs_.find(digest);
    if (blob == blobs_.end()) return BlobMissing(digest);
    PLAIT_RETURN_IF_ERROR(CheckRead(digest, offset));
    return blob->second.bytes.substr(offset, bytes_max);
  }

  absl::StatusOr<FileDescriptor> Open(const Digest& digest) override {
    PLAIT_ASSIGN_OR_RETURN(const std::string bytes, Read(digest, 0, digest.size_bytes));
    FileDescriptor file(memfd_create("plait-blob", MFD_CLOEXEC));
    if (!file.is_open()) return FileError(errno, "memory file");
    // With pwrite, so that the reader finds the descriptor at offset 0.
    for (size_t written = 0; written < bytes.size();) {
      const ssize_t count =
          pwrite(file.number(), bytes.data() + written, bytes.size() - written, written);
      if (count < 0) return FileError(errno, "memory file");
      written += count;
    }
    return file;
  }

  absl::StatusOr<std::vector<BlobEntry>> List() override {
    absl::MutexLock lock(&mutex_);
    std::vector<BlobEntry> entries;
    for (const auto& [digest, blob] : blobs_) entries.push_back({digest, blob.used_at});
    return entries;
  }

  absl::StatusOr<bool> DeleteUnused(const Digest& digest, absl::Time used_before) override {
    absl::MutexLock lock(&mutex_);
    const auto blob = blobs_.find(digest);
    if (blob == blobs_.end() || blob->second.used_at >= used_before) return false;
    // Descriptors that Open gave away are copies and stay valid.
    blobs_.erase(blob);
    return true;
  }

  absl::StatusOr<int> DropUploads(absl::Time grown_before) override {
    absl::MutexLock lock(&mutex_);
    const size_t before = uploads_.size();
    std::erase_if(uploads_,
                  [&](const auto& upload) { return upload.second.grown_at < grown_before; });
    return static_cast<int>(before - uploads_.size());
  }

 private:
  // 0 for an upload that has not begun.
  int64_t BytesArrived(const BlobUpload& upload) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const auto arrived = uploads_.find(upload);
    return arrived == uploads_.end() ? 0 : static_cast<int64_t>(arrived->second.bytes.size());
  }

  Clock& clock_;
  absl::Mutex mutex_;
  std::map<Digest, StoredBlob> blobs_ ABSL_GUARDED_BY(mutex_);
  std::map<BlobUpload, Arrived> uploads_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

std::unique_ptr<BlobStore> NewMemoryBlobStore(Clock& clock) {
  return std::make_unique<MemoryBlobStore>(clock);
}

}  // namespace plait
