#include "storage/table_job_store.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "base/limits.h"
#include "base/status_macros.h"
#include "proto/wire/digest.h"
#include "proto/wire/error.h"
#include "proto/wire/job_state.h"
#include "storage/job_operations.h"

namespace plait {
namespace {

// Jobs that one call of List looks at, but for a page that is larger: some milliseconds.
constexpr int kRowsPerListing = 500;

// Every method is the same three steps: a transaction around functions of job_operations.h, what it
// found carried out of the lambda, and the listener told. No backend runs a write twice, so lambdas
// may write to variables outside.
class TableJobStore : public JobStore {
 public:
  TableJobStore(std::unique_ptr<JobTransactor> transactor, Clock& clock,
                TableJobStoreOptions options)
      : clock_(clock), options_(std::move(options)), transactor_(std::move(transactor)) {}

  absl::StatusOr<v1::Job> Submit(const JobSubmission& submission) override {
    SubmittedJob submitted;
    PLAIT_RETURN_IF_ERROR(transactor_->Write([&](JobTable& table) -> absl::Status {
      PLAIT_ASSIGN_OR_RETURN(submitted,
                             SubmitJob(table, submission, options_.queued_jobs_max, clock_.Now()));
      return absl::OkStatus();
    }));
    // A repeated request changed nothing, so nobody has to wake up.
    if (submitted.inserted) Changed(submitted.job.id());
    return submitted.job;
  }

  absl::StatusOr<std::optional<v1::Job>> FindSubmitted(const JobSubmission& submission) override {
    std::optional<v1::Job> job;
    PLAIT_RETURN_IF_ERROR(transactor_->Read([&](JobTable& table) -> absl::Status {
      PLAIT_ASSIGN_OR_RETURN(job, plait::FindSubmitted(table, submission));
      return absl::OkStatus();
    }));
    return job;
  }

  absl::StatusOr<v1::Job> Get(absl::string_view tenant, absl::string_view job_id) override {
    v1::Job job;
    PLAIT_RETURN_IF_ERROR(transactor_->Read([&](JobTable& table) -> absl::Status {
      PLAIT_ASSIGN_OR_RETURN(const JobRow row, FindOfTenant(table, tenant, job_id));
      job = row.job;
      return absl::OkStatus();
    }));
    return job;
  }

  absl::StatusOr<std::vector<v1::Attempt>> Attempts(absl::string_view tenant,
                                                    absl::string_view job_id) override {
    std::vector<v1::Attempt> attempts;
    PLAIT_RETURN_IF_ERROR(transactor_->Read([&](JobTable& table) -> absl::Status {
      PLAIT_RETURN_IF_ERROR(FindOfTenant(table, tenant, job_id).status());
      PLAIT_ASSIGN_OR_RETURN(attempts, table.SelectAttempts(job_id));
      return absl::OkStatus();
    }));
    return attempts;
  }

  absl::StatusOr<JobPage> List(const JobQuery& query) override {
    PLAIT_CHECK(query.page_size > 0);
    const auto page_size = static_cast<size_t>(query.page_size);
    JobPage page;
    page.next_before = query.before;
    int64_t bytes = 0;
    PLAIT_RETURN_IF_ERROR(transactor_->Read([&](JobTable& table) -> absl::Status {
      for (int read = 0; read < kRowsPerListing && page.jobs.size() < page_size;) {
        // One more than is wanted tells whether there is another page.
        const int count_max = static_cast<int>(page_size - page.jobs.size()) + 1;
        PLAIT_ASSIGN_OR_RETURN(std::vector<JobRow> rows,
                               table.SelectJobs({.tenant = query.tenant,
                                                 .state = query.state,
                                                 .before = page.next_before,
                                                 .count_max = count_max}));
        const bool is_last = rows.size() < static_cast<size_t>(count_max);
        if (!is_last) rows.pop_back();
        read += static_cast<int>(rows.size());
        for (JobRow& row : rows) {
          if (!AddListed(query, std::move(row.job), &bytes, page)) return absl::OkStatus();
          page.next_before = row.number;
        }
        if (!is_last) continue;
        page.next_before = 0;
        break;
      }
      return absl::OkStatus();
    }));
    return page;
  }

  absl::StatusOr<JobCounts> Count() override {
    JobCounts counts;
    PLAIT_RETURN_IF_ERROR(transactor_->Read([&](JobTable& table) -> absl::Status {
      PLAIT_ASSIGN_OR_RETURN(counts.queued, table.CountJobs(v1::JOB_STATE_QUEUED));
      PLAIT_ASSIGN_OR_RETURN(counts.running, table.CountJobs(v1::JOB_STATE_RUNNING));
      return absl::OkStatus();
    }));
    return counts;
  }

  absl::StatusOr<std::optional<LeasedJob>> Acquire(const JobWish& wish) override {
    std::optional<LeasedJob> leased;
    PLAIT_RETURN_IF_ERROR(transactor_->Write([&](JobTable& table) -> absl::Status {
      const absl::Time now = clock_.Now();
      PLAIT_ASSIGN_OR_RETURN(std::optional<JobRow> row,
                             table.FindQueued({wish.devices, now, last_tenant_}));
      if (!row.has_value()) return absl::OkStatus();
      // Chosen and taken in one write transaction: no two holders can get the same job.
      PLAIT_RETURN_IF_ERROR(BeginRun(table, *row, wish, now));
      leased = LeasedJob{row->job, {row->job.id(), row->job.attempts()}};
      last_tenant_ = row->job.tenant();
      return absl::OkStatus();
    }));
    if (leased.has_value()) Changed(leased->lease.job_id);
    return leased;
  }

  absl::StatusOr<bool> Heartbeat(const JobLease& lease, absl::Duration extension) override {
    bool cancel_requested = false;
    PLAIT_RETURN_IF_ERROR(transactor_->Write([&](JobTable& table) -> absl::Status {
      PLAIT_ASSIGN_OR_RETURN(JobRow row, FindLeased(table, lease));
      cancel_requested = row.job.cancel_requested();
      row.lease_expires = clock_.Now() + extension;
      return table.UpdateJob(row);
    }));
    return cancel_requested;
  }

  absl::StatusOr<v1::Job> Finish(const JobLease& lease, const JobEnd& end) override {
    return ChangeLeased(lease, [&](JobTable& table, JobRow& row) {
      return FinishRun(table, row, end, clock_.Now());
    });
  }

  absl::StatusOr<v1::Job> ReportFault(const JobLease& lease, const JobFault& fault) override {
    return ChangeLeased(lease, [&](JobTable& table, JobRow& row) -> absl::Status {
      return CountFault(table, row, fault, clock_.Now());
    });
  }

  absl::StatusOr<v1::Job> Release(const JobLease& lease) override {
    return ChangeLeased(lease, [&](JobTable& table, JobRow& row) {
      return Requeue(table, row, "lost", clock_.Now());
    });
  }

  absl::StatusOr<v1::Job> Postpone(const JobLease& lease, const v1::ErrorDetail& error) override {
    return ChangeLeased(lease, [&](JobTable& table, JobRow& row) {
      return PostponeRun(table, row, error, clock_.Now());
    });
  }

  absl::StatusOr<v1::Job> Cancel(absl::string_view tenant, absl::string_view job_id) override {
    v1::Job job;
    PLAIT_RETURN_IF_ERROR(transactor_->Write([&](JobTable& table) -> absl::Status {
      PLAIT_ASSIGN_OR_RETURN(JobRow row, FindOfTenant(table, tenant, job_id));
      absl::Status status = CancelJob(table, row, clock_.Now());
      job = row.job;
      return status;
    }));
    // Also when nothing changed: a wake-up too many costs a look.
    Changed(job.id());
    return job;
  }

  absl::Status Delete(absl::string_view tenant, absl::string_view job_id) override {
    return transactor_->Write([&](JobTable& table) -> absl::Status {
      PLAIT_ASSIGN_OR_RETURN(const JobRow row, FindOfTenant(table, tenant, job_id));
      return DeleteEndedJob(table, row);
    });
  }

  absl::StatusOr<int> DeleteEnded(absl::Time ended_before, int count_max) override {
    std::vector<std::string> ids;
    PLAIT_RETURN_IF_ERROR(transactor_->Write([&](JobTable& table) -> absl::Status {
      PLAIT_ASSIGN_OR_RETURN(ids, table.SelectEnded(ended_before, count_max));
      for (const std::string& id : ids) {
        PLAIT_ASSIGN_OR_RETURN(const std::optional<JobRow> row, table.FindJob(id));
        if (row.has_value()) PLAIT_RETURN_IF_ERROR(DeleteEndedJob(table, *row));
      }
      return absl::OkStatus();
    }));
    return static_cast<int>(ids.size());
  }

  absl::StatusOr<int> RecoverRunningJobs() override {
    return Recover([](JobTable& table, JobRow& row, absl::Time now) -> absl::StatusOr<bool> {
      PLAIT_RETURN_IF_ERROR(Requeue(table, row, "lost", now));
      return true;
    });
  }

  absl::StatusOr<int> RecoverExpiredJobs(absl::Span<const std::string> held) override {
    const v1::ErrorDetail error = wire::ErrorDetailOf(wire::Error(
        v1::ERROR_REASON_STORAGE_UNAVAILABLE, "the end of the run could not be stored"));
    return Recover([&](JobTable& table, JobRow& row, absl::Time now) -> absl::StatusOr<bool> {
      if (row.lease_expires > now || absl::c_linear_search(held, row.job.id())) return false;
      PLAIT_RETURN_IF_ERROR(PostponeRun(table, row, error, now));
      return true;
    });
  }

  absl::Status AppendEvent(const JobLease& lease, const v1::Event& event) override {
    // Of fast progress only the last one matters; a phase is never merged away.
    const std::string key = event.type() == v1::EVENT_TYPE_PROGRESS
                                ? absl::StrCat("progress/", lease.job_id, "/", lease.attempt)
                                : "";
    return transactor_->WriteSoon(
        key,
        [this, lease, event](JobTable& table) {
          return RecordEvent(table, lease, event, clock_.Now());
        },
        [this, id = lease.job_id] { Changed(id); });
  }

  absl::Status Flush() override { return transactor_->Flush(); }

  absl::StatusOr<std::vector<v1::Event>> Events(absl::string_view tenant, absl::string_view job_id,
                                                int64_t after_sequence, int count_max) override {
    std::vector<v1::Event> events;
    PLAIT_RETURN_IF_ERROR(transactor_->Read([&](JobTable& table) -> absl::Status {
      PLAIT_RETURN_IF_ERROR(FindOfTenant(table, tenant, job_id).status());
      PLAIT_ASSIGN_OR_RETURN(events, table.SelectEvents(job_id, after_sequence, count_max));
      return absl::OkStatus();
    }));
    return events;
  }

  absl::StatusOr<std::optional<v1::Job>> FindResult(const ResultKey& key) override {
    std::optional<v1::Job> job;
    PLAIT_RETURN_IF_ERROR(transactor_->Read([&](JobTable& table) -> absl::Status {
      PLAIT_ASSIGN_OR_RETURN(const std::optional<std::string> job_id, table.FindResult(key));
      if (!job_id.has_value()) return absl::OkStatus();
      PLAIT_ASSIGN_OR_RETURN(std::optional<JobRow> row, table.FindJob(*job_id));
      // Without the tenant's check: the key itself names the tenant.
      if (row.has_value()) job = std::move(row->job);
      return absl::OkStatus();
    }));
    return job;
  }

  absl::Status GrantBlob(absl::string_view tenant, const Digest& digest) override {
    return transactor_->Write(
        [&](JobTable& table) { return table.GrantBlob(tenant, digest.ToString(), clock_.Now()); });
  }

  absl::Status DropGrants(const Digest& digest, absl::Time granted_before) override {
    return transactor_->Write(
        [&](JobTable& table) { return table.DropGrants(digest.ToString(), granted_before); });
  }

  absl::StatusOr<bool> MayReadBlob(absl::string_view tenant, const Digest& digest) override {
    bool may_read = false;
    PLAIT_RETURN_IF_ERROR(transactor_->Read([&](JobTable& table) -> absl::Status {
      PLAIT_ASSIGN_OR_RETURN(may_read, table.MayReadBlob(tenant, digest.ToString()));
      return absl::OkStatus();
    }));
    return may_read;
  }

  absl::StatusOr<BlobReferencePage> ReferencedBlobs(int64_t before, int jobs_max) override {
    PLAIT_CHECK(jobs_max > 0);
    std::vector<JobRow> rows;
    PLAIT_RETURN_IF_ERROR(transactor_->Read([&](JobTable& table) -> absl::Status {
      PLAIT_ASSIGN_OR_RETURN(rows, table.SelectJobs({.before = before, .count_max = jobs_max}));
      return absl::OkStatus();
    }));
    BlobReferencePage page;
    for (const JobRow& row : rows) {
      for (const v1::Digest& blob : BlobsNamedBy(row.job)) {
        PLAIT_ASSIGN_OR_RETURN(Digest digest, wire::DigestFromProto(blob));
        page.references.push_back({std::move(digest), wire::IsFinal(row.job.state())});
      }
    }
    if (rows.size() == static_cast<size_t>(jobs_max)) page.next_before = rows.back().number;
    return page;
  }

 private:
  // False when the page, whose jobs take `bytes`, is full without it.
  static bool AddListed(const JobQuery& query, v1::Job job, int64_t* bytes, JobPage& page) {
    if (!query.filter.Matches(job)) return true;
    // A report may have megabytes; Get shows it.
    if (job.has_result()) job.mutable_result()->clear_report();
    if (job.has_incumbent()) job.mutable_incumbent()->clear_report();
    *bytes += static_cast<int64_t>(job.ByteSizeLong());
    if (*bytes > kPageBytesMax && !page.jobs.empty()) return false;
    page.jobs.push_back(std::move(job));
    return true;
  }

  absl::StatusOr<v1::Job> ChangeLeased(const JobLease& lease,
                                       absl::FunctionRef<absl::Status(JobTable&, JobRow&)> change) {
    v1::Job job;
    PLAIT_RETURN_IF_ERROR(transactor_->Write([&](JobTable& table) -> absl::Status {
      // The fence: the row is read and changed in one transaction, so an old run cannot slip in
      // between.
      PLAIT_ASSIGN_OR_RETURN(JobRow row, FindLeased(table, lease));
      PLAIT_RETURN_IF_ERROR(change(table, row));
      job = row.job;
      return absl::OkStatus();
    }));
    Changed(job.id());
    return job;
  }

  // Shows each running job to `recover`, which tells whether it has taken it from its holder.
  absl::StatusOr<int> Recover(
      absl::FunctionRef<absl::StatusOr<bool>(JobTable&, JobRow&, absl::Time)> recover) {
    std::vector<std::string> recovered;
    PLAIT_RETURN_IF_ERROR(transactor_->Write([&](JobTable& table) -> absl::Status {
      PLAIT_ASSIGN_OR_RETURN(std::vector<JobRow> rows,
                             table.SelectJobs({.state = v1::JOB_STATE_RUNNING}));
      for (JobRow& row : rows) {
        PLAIT_ASSIGN_OR_RETURN(const bool is_recovered, recover(table, row, clock_.Now()));
        if (is_recovered) recovered.push_back(row.job.id());
      }
      return absl::OkStatus();
    }));
    // All in one transaction: a start that crashes halfway begins anew.
    for (const std::string& job_id : recovered) Changed(job_id);
    return static_cast<int>(recovered.size());
  }

  // After the commit and with no lock held: a listener may ask the store.
  void Changed(const std::string& job_id) {
    if (options_.listener) options_.listener(job_id);
  }

  Clock& clock_;
  const TableJobStoreOptions options_;
  // Whose turn it was last. Used in writes only, which exclude each other; a restart begins anew.
  std::string last_tenant_;
  // Last, so that it is destroyed first: its delayed operations use the members above.
  const std::unique_ptr<JobTransactor> transactor_;
};

}  // namespace

std::unique_ptr<JobStore> NewTableJobStore(std::unique_ptr<JobTransactor> transactor, Clock& clock,
                                           TableJobStoreOptions options) {
  PLAIT_CHECK(options.queued_jobs_max > 0);
  return std::make_unique<TableJobStore>(std::move(transactor), clock, std::move(options));
}

}  // namespace plait
