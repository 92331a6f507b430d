#include "storage/memory/job_store.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "base/status_macros.h"

namespace plait {
namespace {

using TenantAndName = std::pair<std::string, std::string>;

std::string Text(absl::string_view view) { return std::string(view); }

std::string KeyText(const ResultKey& key) {
  // '\n' occurs in none of the parts, so that no two keys have one text.
  return absl::StrCat(key.tenant, "\n", key.model.ToString(), "\n", key.device_fingerprint, "\n",
                      key.options_hash, "\n", key.engine_version);
}

// Copyable, so that a failed operation is undone by going back to the copy.
class MemoryJobTable : public JobTable {
 public:
  absl::StatusOr<int64_t> InsertJob(const JobRow& row) override {
    const int64_t number = last_number_ + 1;
    if (!numbers_.emplace(row.job.id(), number).second) {
      return absl::AlreadyExistsError(absl::StrCat("job ", row.job.id(), ": exists already"));
    }
    JobRow stored = row;
    stored.number = last_number_ = number;
    jobs_[number] = std::move(stored);
    return number;
  }

  // By number: ids are for finding, numbers for order.
  absl::Status UpdateJob(const JobRow& row) override {
    jobs_[row.number] = row;
    return absl::OkStatus();
  }

  absl::StatusOr<std::optional<JobRow>> FindJob(absl::string_view job_id) override {
    const auto found = numbers_.find(Text(job_id));
    if (found == numbers_.end()) return std::nullopt;
    return jobs_.at(found->second);
  }

  absl::StatusOr<std::vector<JobRow>> SelectJobs(const JobSelection& selection) override {
    // All of them: for the few jobs of a trial an index would cost more than it saves.
    std::vector<JobRow> rows;
    const auto matches = [&](const JobRow& row) {
      return (selection.tenant.empty() || row.job.tenant() == selection.tenant) &&
             (selection.state == v1::JOB_STATE_UNSPECIFIED || row.job.state() == selection.state) &&
             (selection.before == 0 || row.number < selection.before);
    };
    for (const auto& [number, row] : jobs_) {
      if (matches(row)) rows.push_back(row);
    }
    std::reverse(rows.begin(), rows.end());
    if (selection.count_max > 0 && rows.size() > static_cast<size_t>(selection.count_max)) {
      rows.resize(selection.count_max);
    }
    return rows;
  }

  absl::StatusOr<std::optional<JobRow>> FindQueued(const QueuedSelection& selection) override {
    const auto& devices = selection.devices;
    const JobRow* next = nullptr;
    // Tenants after the last one, then all others; both by name, and the oldest job first.
    const auto turn = [&](const JobRow& row) {
      return std::make_pair(row.job.tenant() <= selection.after_tenant, row.job.tenant());
    };
    for (const auto& [number, row] : jobs_) {
      if (row.job.state() == v1::JOB_STATE_QUEUED && IsPauseOver(row.not_before, selection.now) &&
          (devices.empty() || absl::c_linear_search(devices, row.job.options().device())) &&
          !IsEqualOneRunning(row) && (next == nullptr || turn(row) < turn(*next))) {
        next = &row;
      }
    }
    if (next == nullptr) return std::nullopt;
    return *next;
  }

  absl::StatusOr<int64_t> CountJobs(v1::JobState state) override {
    return std::count_if(jobs_.begin(), jobs_.end(),
                         [&](const auto& entry) { return entry.second.job.state() == state; });
  }

  absl::StatusOr<std::vector<std::string>> SelectEnded(absl::Time before, int count_max) override {
    std::multimap<absl::Time, std::string> ended;
    for (const auto& [number, row] : jobs_) {
      const absl::Time at = EndOf(row.job);
      if (row.job.has_end_time() && at < before) ended.emplace(at, row.job.id());
    }
    std::vector<std::string> ids;
    for (auto& [at, id] : ended) {
      if (ids.size() < static_cast<size_t>(count_max)) ids.push_back(std::move(id));
    }
    return ids;
  }

  absl::Status DeleteJob(const JobRow& row) override {
    const std::string& id = row.job.id();
    jobs_.erase(row.number);
    numbers_.erase(id);
    attempts_.erase(id);
    events_.erase(id);
    std::erase_if(requests_, [&](const auto& entry) { return entry.second.job_id == id; });
    std::erase_if(results_, [&](const auto& entry) { return entry.second == id; });
    return absl::OkStatus();
  }

  absl::Status InsertRequest(const RequestRow& row) override {
    requests_[{row.tenant, row.request_id}] = row;
    return absl::OkStatus();
  }

  absl::StatusOr<std::optional<RequestRow>> FindRequest(absl::string_view tenant,
                                                        absl::string_view request_id) override {
    const auto found = requests_.find({Text(tenant), Text(request_id)});
    if (found == requests_.end()) return std::nullopt;
    return found->second;
  }

  absl::Status PutAttempt(const v1::Job& job, const v1::Attempt& attempt) override {
    attempts_[job.id()][attempt.number()] = attempt;
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<v1::Attempt>> SelectAttempts(absl::string_view job_id) override {
    std::vector<v1::Attempt> attempts;
    for (const auto& [number, attempt] : attempts_[Text(job_id)]) attempts.push_back(attempt);
    return attempts;
  }

  absl::Status InsertEvent(const v1::Event& event) override {
    events_[event.job_id()].push_back(event);
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<v1::Event>> SelectEvents(absl::string_view job_id,
                                                      int64_t after_sequence,
                                                      int count_max) override {
    std::vector<v1::Event> selected;
    for (const v1::Event& event : events_[Text(job_id)]) {
      if (selected.size() == static_cast<size_t>(count_max)) break;
      if (event.sequence() > after_sequence) selected.push_back(event);
    }
    return selected;
  }

  absl::Status PutResult(const ResultKey& key, absl::string_view job_id) override {
    results_[KeyText(key)] = Text(job_id);
    return absl::OkStatus();
  }

  absl::StatusOr<std::optional<std::string>> FindResult(const ResultKey& key) override {
    const auto found = results_.find(KeyText(key));
    if (found == results_.end()) return std::nullopt;
    return found->second;
  }

  absl::Status GrantBlob(absl::string_view tenant, absl::string_view digest,
                         absl::Time granted_at) override {
    grants_[{Text(tenant), Text(digest)}] = granted_at;
    return absl::OkStatus();
  }

  absl::Status DropGrants(absl::string_view digest, absl::Time granted_before) override {
    std::erase_if(grants_, [&](const auto& grant) {
      return grant.first.second == digest && grant.second < granted_before;
    });
    return absl::OkStatus();
  }

  absl::StatusOr<bool> MayReadBlob(absl::string_view tenant, absl::string_view digest) override {
    return grants_.count({Text(tenant), Text(digest)}) > 0;
  }

 private:
  bool IsEqualOneRunning(const JobRow& queued) const {
    return !queued.equal_key.empty() && absl::c_any_of(jobs_, [&](const auto& entry) {
      const JobRow& row = entry.second;
      return row.job.state() == v1::JOB_STATE_RUNNING && row.equal_key == queued.equal_key;
    });
  }

  int64_t last_number_ = 0;
  std::map<int64_t, JobRow> jobs_;          // by number, so in order of arrival
  std::map<std::string, int64_t> numbers_;  // by id
  std::map<TenantAndName, RequestRow> requests_;
  std::map<std::string, std::map<int, v1::Attempt>> attempts_;
  std::map<std::string, std::vector<v1::Event>> events_;
  std::map<std::string, std::string> results_;
  std::map<TenantAndName, absl::Time> grants_;  // when they were given
};

// One lock for all: reads and writes exclude each other, which is what isolation asks for.
class MemoryTransactor : public JobTransactor {
 public:
  absl::Status Write(JobOperation operation) override {
    absl::MutexLock lock(&mutex_);
    // A copy of everything for each write: this store is for small numbers of jobs.
    // Afterwards it is as if the failed operation had never run, as a rollback has it.
    MemoryJobTable before = table_;
    absl::Status status = operation(table_);
    if (!status.ok()) table_ = std::move(before);
    return status;
  }

  absl::Status WriteSoon(absl::string_view key, std::function<absl::Status(JobTable&)> operation,
                         std::function<void()> committed) override {
    // Errors come at once, to whom they belong.
    static_cast<void>(key);  // Writing at once leaves nothing to merge.
    PLAIT_RETURN_IF_ERROR(Write(operation));
    // Without the lock, because a listener may ask the store.
    committed();
    return absl::OkStatus();
  }

  absl::Status Flush() override { return absl::OkStatus(); }

  absl::Status Read(JobOperation operation) override {
    absl::MutexLock lock(&mutex_);
    return operation(table_);
  }

 private:
  absl::Mutex mutex_;
  MemoryJobTable table_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

std::unique_ptr<JobStore> NewMemoryJobStore(Clock& clock, TableJobStoreOptions options) {
  return NewTableJobStore(std::make_unique<MemoryTransactor>(), clock, std::move(options));
}

}  // namespace plait
