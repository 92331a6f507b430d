#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/digest.h"
#include "base/file_descriptor.h"

namespace plait {

// The bytes of a blob in a file, mapped for reading: the system may take their memory back, and a
// worker that dies leaves nothing behind. Safe to read from any thread.
class MappedBlob {
 public:
  ~MappedBlob();
  MappedBlob(const MappedBlob&) = delete;
  MappedBlob& operator=(const MappedBlob&) = delete;

  // The blob that a server of this machine keeps in its folder (BlobPath). Nobody writes to a whole
  // blob, and one that is deleted stays as long as it is mapped.
  // Errors: NotFound when no such file can be read, or when it has another digest.
  static absl::StatusOr<std::shared_ptr<const MappedBlob>> OfServer(const std::string& blobs_folder,
                                                                    const Digest& digest);

  // Valid as long as the blob lives.
  absl::string_view bytes() const { return bytes_; }

 private:
  friend class BlobFile;
  explicit MappedBlob(absl::string_view bytes) : bytes_(bytes) {}

  const absl::string_view bytes_;
};

// Takes the bytes of a blob as they arrive. Not thread-safe.
class BlobFile {
 public:
  // In the folder for temporary files; in memory where that has no files without names.
  // Errors: Unavailable when no file can be opened.
  static absl::StatusOr<BlobFile> Create(const Digest& digest);

  // Errors: DataLoss for more bytes than the digest has; Unavailable when the disk is full.
  absl::Status Append(absl::string_view bytes);

  // Errors: DataLoss when what was appended has another digest; Unavailable when it cannot be
  // mapped. REQUIRES: called once, last.
  absl::StatusOr<std::shared_ptr<const MappedBlob>> Map();

 private:
  BlobFile(const Digest& digest, FileDescriptor file);
  absl::Status Damaged() const;

  Digest digest_;
  int64_t size_bytes_ = 0;  // so far
  FileDescriptor file_;
  // Movable, unlike the builder itself.
  std::unique_ptr<DigestBuilder> builder_;
};

}  // namespace plait
