#include "server/jobs/job_artifacts.h"

#include <cerrno>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "base/limits.h"
#include "base/status_macros.h"
#include "proto/wire/digest.h"
#include "proto/wire/report_json.h"
#include "storage/blob_bytes.h"
#include "storage/file_error.h"

namespace plait {
namespace {

absl::Status OutputChanged() {
  return absl::InvalidArgumentError("the search child changed a file after it had spoken of it");
}

// Reads the file in pieces; `take` gets each with its offset.
template <typename Take>
absl::Status ReadFile(int file, int64_t size, Take take) {
  std::string bytes;
  for (int64_t offset = 0; offset < size; offset += static_cast<int64_t>(bytes.size())) {
    bytes.resize(static_cast<size_t>(std::min(kBlobChunkBytesMax, size - offset)));
    const ssize_t count = pread(file, bytes.data(), bytes.size(), offset);
    if (count < 0) return FileError(errno, "a file of the search child");
    if (count == 0) return OutputChanged();
    bytes.resize(static_cast<size_t>(count));
    PLAIT_RETURN_IF_ERROR(take(offset, absl::string_view(bytes)));
  }
  return absl::OkStatus();
}

absl::StatusOr<v1::Digest> StoreBytes(Stores& stores, const std::string& tenant,
                                      absl::string_view bytes) {
  PLAIT_ASSIGN_OR_RETURN(const Digest digest, PutBlob(*stores.blobs, bytes));
  PLAIT_RETURN_IF_ERROR(stores.jobs->GrantBlob(tenant, digest));
  return wire::DigestToProto(digest);
}

}  // namespace

absl::StatusOr<FileDescriptor> OpenOutputFile(const std::string& directory) {
  FileDescriptor file(open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (!file.is_open()) file = FileDescriptor(memfd_create("plait-output", MFD_CLOEXEC));
  if (!file.is_open()) return FileError(errno, directory);
  return file;
}

// The child is dead by now or will not write any more; a change would be found by Finish.
absl::StatusOr<Digest> StoreFile(BlobStore& blobs, int file) {
  struct stat state = {};
  if (fstat(file, &state) != 0) return FileError(errno, "a file of the search child");
  if (state.st_size == 0) {
    return absl::InvalidArgumentError("the search child wrote nothing to a file that it speaks of");
  }
  DigestBuilder builder;
  PLAIT_RETURN_IF_ERROR(ReadFile(file, state.st_size, [&](int64_t, absl::string_view bytes) {
    builder.Update(bytes);
    return absl::OkStatus();
  }));
  const Digest digest = builder.Finish();
  PLAIT_ASSIGN_OR_RETURN(const bool is_there, blobs.Find(digest));
  if (is_there) return digest;
  const absl::Status stored = StoreBlob(blobs, digest, [&](const BlobUpload& upload) {
    return ReadFile(file, state.st_size, [&](int64_t offset, absl::string_view bytes) {
      return blobs.Append(upload, offset, bytes).status();
    });
  });
  // The bytes that were read first have another digest than those that were stored.
  if (absl::IsDataLoss(stored)) return OutputChanged();
  PLAIT_RETURN_IF_ERROR(stored);
  return digest;
}

absl::StatusOr<v1::JobResult> StoreArtifacts(Stores& stores, const v1::Job& job,
                                             const internal::Start& start,
                                             const internal::Result& result, int output) {
  v1::JobResult stored;
  // The order is free: nothing names these blobs until the job ends.
  PLAIT_ASSIGN_OR_RETURN(const Digest model, StoreFile(*stores.blobs, output));
  PLAIT_RETURN_IF_ERROR(stores.jobs->GrantBlob(job.tenant(), model));
  *stored.mutable_optimized_model() = wire::DigestToProto(model);
  PLAIT_ASSIGN_OR_RETURN(*stored.mutable_plan(),
                         StoreBytes(stores, job.tenant(), result.plan().SerializeAsString()));
  PLAIT_ASSIGN_OR_RETURN(*stored.mutable_measurement_log(),
                         StoreBytes(stores, job.tenant(), result.measurement_log()));
  v1::Report& report = *stored.mutable_report();
  // From here on every field is set that the daemon knows better, also those that the child has
  // set.
  report = result.report();
  report.set_id(job.id());
  report.set_cached(false);
  *report.mutable_model()->mutable_digest() = job.model();
  report.mutable_device()->set_id(start.device().id());
  report.mutable_device()->set_fingerprint(start.device().fingerprint());
  *report.mutable_output()->mutable_digest() = stored.optimized_model();
  *report.mutable_measurement_log() = stored.measurement_log();
  *report.mutable_plan_digest() = stored.plan();
  report.set_engine_version(start.engine_version());
  PLAIT_RETURN_IF_ERROR(StoreReport(stores, job.tenant(), stored));
  return stored;
}

absl::Status StoreReport(Stores& stores, const std::string& tenant, v1::JobResult& result) {
  const std::string json = wire::JsonText(wire::ReportJson(result.report(), /*with_trace=*/true));
  PLAIT_ASSIGN_OR_RETURN(*result.mutable_report_json(), StoreBytes(stores, tenant, json));
  return absl::OkStatus();
}

}  // namespace plait
