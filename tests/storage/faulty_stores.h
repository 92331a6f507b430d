#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "storage/stores.h"

namespace plait {

// How often a method still fails, and with what; it works again afterwards.
struct Fault {
  absl::Status status;
  int times = 0;

  absl::Status Next() { return times > 0 && times-- > 0 ? status : absl::OkStatus(); }
};

// Passes everything on to another store, but for the faults that a test sets.
class FaultyBlobStore : public BlobStore {
 public:
  explicit FaultyBlobStore(std::unique_ptr<BlobStore> store) : store_(std::move(store)) {}

  Fault finish;

  absl::StatusOr<bool> Find(const Digest& digest) override { return store_->Find(digest); }
  absl::StatusOr<int64_t> BytesUploaded(const BlobUpload& upload) override {
    return store_->BytesUploaded(upload);
  }
  absl::StatusOr<UploadUsage> Uploads() override { return store_->Uploads(); }
  absl::StatusOr<int64_t> Append(const BlobUpload& upload, int64_t offset,
                                 absl::string_view bytes) override {
    return store_->Append(upload, offset, bytes);
  }
  absl::Status Finish(const BlobUpload& upload) override {
    PLAIT_RETURN_IF_ERROR(finish.Next());
    return store_->Finish(upload);
  }
  absl::Status Drop(const BlobUpload& upload) override { return store_->Drop(upload); }
  absl::StatusOr<std::string> Read(const Digest& digest, int64_t offset,
                                   int64_t bytes_max) override {
    return store_->Read(digest, offset, bytes_max);
  }
  absl::StatusOr<FileDescriptor> Open(const Digest& digest) override {
    return store_->Open(digest);
  }
  absl::StatusOr<std::vector<BlobEntry>> List() override { return store_->List(); }
  absl::StatusOr<bool> DeleteUnused(const Digest& digest, absl::Time used_before) override {
    return store_->DeleteUnused(digest, used_before);
  }
  absl::StatusOr<int> DropUploads(absl::Time grown_before) override {
    return store_->DropUploads(grown_before);
  }

 private:
  const std::unique_ptr<BlobStore> store_;
};

// The same for jobs: any end of a run can fail.
class FaultyJobStore : public JobStore {
 public:
  explicit FaultyJobStore(std::unique_ptr<JobStore> store) : store_(std::move(store)) {}

  Fault finish;
  Fault release;
  Fault postpone;

  absl::StatusOr<v1::Job> Submit(const JobSubmission& submission) override {
    return store_->Submit(submission);
  }
  absl::StatusOr<std::optional<v1::Job>> FindSubmitted(const JobSubmission& submission) override {
    return store_->FindSubmitted(submission);
  }
  absl::StatusOr<v1::Job> Get(absl::string_view tenant, absl::string_view job_id) override {
    return store_->Get(tenant, job_id);
  }
  absl::StatusOr<std::vector<v1::Attempt>> Attempts(absl::string_view tenant,
                                                    absl::string_view job_id) override {
    return store_->Attempts(tenant, job_id);
  }
  absl::StatusOr<JobPage> List(const JobQuery& query) override { return store_->List(query); }
  absl::StatusOr<JobCounts> Count() override { return store_->Count(); }
  absl::StatusOr<std::optional<LeasedJob>> Acquire(const JobWish& wish) override {
    return store_->Acquire(wish);
  }
  absl::StatusOr<bool> Heartbeat(const JobLease& lease, absl::Duration extension) override {
    return store_->Heartbeat(lease, extension);
  }
  absl::StatusOr<v1::Job> Finish(const JobLease& lease, const JobEnd& end) override {
    PLAIT_RETURN_IF_ERROR(finish.Next());
    return store_->Finish(lease, end);
  }
  absl::StatusOr<v1::Job> ReportFault(const JobLease& lease, const JobFault& fault) override {
    return store_->ReportFault(lease, fault);
  }
  absl::StatusOr<v1::Job> Release(const JobLease& lease) override {
    PLAIT_RETURN_IF_ERROR(release.Next());
    return store_->Release(lease);
  }
  absl::StatusOr<v1::Job> Postpone(const JobLease& lease, const v1::ErrorDetail& error) override {
    PLAIT_RETURN_IF_ERROR(postpone.Next());
    return store_->Postpone(lease, error);
  }
  absl::StatusOr<v1::Job> Cancel(absl::string_view tenant, absl::string_view job_id) override {
    return store_->Cancel(tenant, job_id);
  }
  absl::Status Delete(absl::string_view tenant, absl::string_view job_id) override {
    return store_->Delete(tenant, job_id);
  }
  absl::StatusOr<int> DeleteEnded(absl::Time ended_before, int count_max) override {
    return store_->DeleteEnded(ended_before, count_max);
  }
  absl::StatusOr<int> RecoverRunningJobs() override { return store_->RecoverRunningJobs(); }
  absl::StatusOr<int> RecoverExpiredJobs(absl::Span<const std::string> held) override {
    return store_->RecoverExpiredJobs(held);
  }
  absl::Status AppendEvent(const JobLease& lease, const v1::Event& event) override {
    return store_->AppendEvent(lease, event);
  }
  absl::Status Flush() override { return store_->Flush(); }
  absl::StatusOr<std::vector<v1::Event>> Events(absl::string_view tenant, absl::string_view job_id,
                                                int64_t after_sequence, int count_max) override {
    return store_->Events(tenant, job_id, after_sequence, count_max);
  }
  absl::StatusOr<std::optional<v1::Job>> FindResult(const ResultKey& key) override {
    return store_->FindResult(key);
  }
  absl::Status GrantBlob(absl::string_view tenant, const Digest& digest) override {
    return store_->GrantBlob(tenant, digest);
  }
  absl::Status DropGrants(const Digest& digest, absl::Time granted_before) override {
    return store_->DropGrants(digest, granted_before);
  }
  absl::StatusOr<bool> MayReadBlob(absl::string_view tenant, const Digest& digest) override {
    return store_->MayReadBlob(tenant, digest);
  }
  absl::StatusOr<BlobReferencePage> ReferencedBlobs(int64_t before, int jobs_max) override {
    return store_->ReferencedBlobs(before, jobs_max);
  }

 private:
  const std::unique_ptr<JobStore> store_;
};

}  // namespace plait
