#include "server/jobs/job_models.h"

#include <algorithm>
#include <cerrno>

#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "base/limits.h"
#include "base/status_macros.h"
#include "proto/wire/digest.h"
#include "storage/blob_bytes.h"
#include "storage/file_error.h"

namespace plait {
namespace {

// A few models, and the inputs of a few sets.
constexpr int kBlobsMax = 64;
constexpr int kModelsMax = 8;

std::pair<std::string, int64_t> NameOf(const v1::Digest& digest) {
  return {digest.sha256_hex(), digest.size_bytes()};
}

}  // namespace

absl::Status Lie(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("the search child broke the protocol: ", what));
}

absl::Status JobModels::Store(const internal::BlobsWritten& written) {
  written_ += written.blobs_size();
  if (written_ > kBlobsMax) return Lie("more blobs than a job may have");
  for (const v1::Digest& proto : written.blobs()) {
    PLAIT_ASSIGN_OR_RETURN(const Digest digest, wire::DigestFromProto(proto));
    PLAIT_RETURN_IF_ERROR(StoreOne(digest, offset_bytes_));
    offset_bytes_ += digest.size_bytes;
    stored_.insert(NameOf(proto));
  }
  return absl::OkStatus();
}

absl::Status JobModels::StoreOne(const Digest& digest, int64_t offset) {
  absl::Status stored = StoreBlob(blobs_, digest, [&](const BlobUpload& upload) -> absl::Status {
    std::string bytes;
    for (int64_t done = 0; done < digest.size_bytes; done += static_cast<int64_t>(bytes.size())) {
      bytes.resize(static_cast<size_t>(std::min(kBlobChunkBytesMax, digest.size_bytes - done)));
      const ssize_t count = pread(file_, bytes.data(), bytes.size(), offset + done);
      if (count < 0) return FileError(errno, "a file of the search child");
      if (count == 0) return Lie("a blob is shorter than its digest says");
      bytes.resize(static_cast<size_t>(count));
      PLAIT_RETURN_IF_ERROR(blobs_.Append(upload, done, bytes).status());
    }
    return absl::OkStatus();
  });
  if (absl::IsDataLoss(stored)) return Lie("a blob is not what its digest says");
  return stored;
}

void JobModels::NoteUse() {
  for (const auto& [sha256_hex, size_bytes] : stored_) {
    blobs_.Find({sha256_hex, size_bytes}).status().IgnoreError();
  }
}

absl::StatusOr<v1::Device> JobModels::CheckRequest(const internal::MeasureModelsRequest& request,
                                                   const v1::Job& job) const {
  std::set<std::pair<std::string, int64_t>> allowed = stored_;
  allowed.insert(NameOf(job.model()));
  for (const v1::InputSet& set : job.options().input_sets()) {
    for (const v1::InputValue& value : set.values()) allowed.insert(NameOf(value.blob()));
  }
  const worker::v1::MeasureModelsTask& task = request.task();
  if (task.models_size() < 1 || task.models_size() > kModelsMax) {
    return Lie("more models than a task may have");
  }
  for (const v1::Digest& model : task.models()) {
    if (!allowed.contains(NameOf(model))) return Lie("a model that is not the job's");
  }
  for (const v1::InputSet& set : task.input_sets()) {
    for (const v1::InputValue& value : set.values()) {
      if (!allowed.contains(NameOf(value.blob()))) return Lie("an input that is not the job's");
    }
  }
  const auto runtime =
      std::find_if(runtimes_.begin(), runtimes_.end(),
                   [&](const v1::Device& device) { return device.id() == request.runtime(); });
  if (runtime == runtimes_.end()) return Lie("a runtime that is not the job's");
  return *runtime;
}

}  // namespace plait
