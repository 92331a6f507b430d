#include "storage/sqlite/job_store.h"

#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include "absl/synchronization/mutex.h"
#include "base/status_macros.h"
#include "storage/sqlite/job_table.h"
#include "storage/sqlite/schema.h"
#include "storage/sqlite/writer.h"

namespace plait {
namespace {

// Writes go through the one writer; reads have a connection of their own, which in WAL mode sees
// what is committed and never waits for a writer.
class SqliteTransactor : public JobTransactor {
 public:
  SqliteTransactor(std::unique_ptr<Database> written, std::unique_ptr<Database> read)
      : reader_(std::move(read)), writer_(std::move(written)) {}

  absl::Status Write(JobOperation operation) override {
    return writer_.Write([&] {
      SqliteJobTable table(writer_.database());
      return operation(table);
    });
  }

  absl::Status WriteSoon(absl::string_view key, std::function<absl::Status(JobTable&)> operation,
                         std::function<void()> committed) override {
    return writer_.WriteSoon(
        key,
        [this, operation = std::move(operation)] {
          SqliteJobTable table(writer_.database());
          return operation(table);
        },
        std::move(committed));
  }

  absl::Status Flush() override { return writer_.Flush(); }

  absl::Status Read(JobOperation operation) override {
    absl::MutexLock lock(&reader_mutex_);
    // One transaction, so that all statements see the same moment.
    PLAIT_RETURN_IF_ERROR(reader_->Execute("BEGIN"));
    SqliteJobTable table(*reader_);
    const absl::Status status = operation(table);
    const absl::Status ended = reader_->Execute("ROLLBACK");
    return status.ok() ? ended : status;
  }

 private:
  absl::Mutex reader_mutex_;
  const std::unique_ptr<Database> reader_ ABSL_PT_GUARDED_BY(reader_mutex_);
  SqliteWriter writer_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<JobStore>> OpenSqliteJobStore(const std::string& path, Clock& clock,
                                                             TableJobStoreOptions options) {
  // A write-ahead log is deleted when its database is closed.
  std::error_code error;
  const auto log_bytes = std::filesystem::file_size(path + "-wal", error);
  const bool was_left_open = !error && log_bytes > 0;
  PLAIT_ASSIGN_OR_RETURN(std::unique_ptr<Database> written,
                         Database::Open(path, Durability::kFull));
  if (was_left_open) PLAIT_RETURN_IF_ERROR(written->Check());
  // Before the reader's connection, which then sees the newest tables only.
  PLAIT_RETURN_IF_ERROR(MigrateDatabase(*written, JobSchema()));
  PLAIT_ASSIGN_OR_RETURN(std::unique_ptr<Database> read, Database::Open(path, Durability::kFull));
  return NewTableJobStore(std::make_unique<SqliteTransactor>(std::move(written), std::move(read)),
                          clock, std::move(options));
}

}  // namespace plait
