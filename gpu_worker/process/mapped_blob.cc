#include "gpu_worker/process/mapped_blob.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "base/blob_path.h"
#include "base/status_macros.h"

namespace plait {
namespace {

// The worker's own trouble, with which another one may have none.
absl::Status FileTrouble() {
  return absl::UnavailableError(absl::StrCat(
      "the worker cannot keep a blob in its folder for temporary files: ", std::strerror(errno)));
}

// Nothing for an empty file, which cannot be mapped; no bytes and a null pointer on failure.
absl::string_view Map(const FileDescriptor& file, int64_t size_bytes) {
  if (size_bytes == 0) return "";
  const auto size = static_cast<size_t>(size_bytes);
  void* const data = mmap(nullptr, size, PROT_READ, MAP_SHARED, file.number(), 0);
  if (data == MAP_FAILED) return {};
  return {static_cast<const char*>(data), size};
}

}  // namespace

absl::StatusOr<std::shared_ptr<const MappedBlob>> MappedBlob::OfServer(
    const std::string& blobs_folder, const Digest& digest) {
  const absl::Status missing = absl::NotFoundError(
      absl::StrCat("blob ", digest.ToString(), " is not in folder ", blobs_folder));
  const FileDescriptor file(
      open(BlobPath(blobs_folder, digest).c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  struct stat info = {};
  if (!file.is_open() || fstat(file.number(), &info) != 0) return missing;
  if (!S_ISREG(info.st_mode) || info.st_size != digest.size_bytes) return missing;
  const absl::string_view bytes = Map(file, digest.size_bytes);
  if (bytes.data() == nullptr) return missing;
  std::shared_ptr<const MappedBlob> blob(new MappedBlob(bytes));
  if (DigestOf(bytes) != digest) return missing;
  return blob;
}

MappedBlob::~MappedBlob() {
  if (!bytes_.empty()) munmap(const_cast<char*>(bytes_.data()), bytes_.size());
}

BlobFile::BlobFile(const Digest& digest, FileDescriptor file)
    : digest_(digest), file_(std::move(file)), builder_(std::make_unique<DigestBuilder>()) {}

absl::Status BlobFile::Damaged() const {
  return absl::DataLossError(absl::StrCat("blob ", digest_.ToString(), " arrived damaged"));
}

absl::StatusOr<BlobFile> BlobFile::Create(const Digest& digest) {
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::temp_directory_path(error);
  FileDescriptor file;
  if (!error) file = FileDescriptor(open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (!file.is_open()) file = FileDescriptor(memfd_create("plait-blob", MFD_CLOEXEC));
  if (!file.is_open()) return FileTrouble();
  return BlobFile(digest, std::move(file));
}

absl::Status BlobFile::Append(absl::string_view bytes) {
  size_bytes_ += static_cast<int64_t>(bytes.size());
  if (size_bytes_ > digest_.size_bytes) return Damaged();
  builder_->Update(bytes);
  while (!bytes.empty()) {
    const ssize_t count = write(file_.number(), bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return FileTrouble();
    bytes.remove_prefix(static_cast<size_t>(count));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<const MappedBlob>> BlobFile::Map() {
  if (builder_->Finish() != digest_) return Damaged();
  const absl::string_view bytes = plait::Map(file_, size_bytes_);
  if (bytes.data() == nullptr) return FileTrouble();
  // The mapping keeps the file, which nobody else can open.
  return std::shared_ptr<const MappedBlob>(new MappedBlob(bytes));
}

}  // namespace plait
