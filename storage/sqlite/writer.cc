#include "storage/sqlite/writer.h"

#include <algorithm>
#include <utility>

#include "absl/time/time.h"
#include "base/limits.h"
#include "base/status_macros.h"
#include "proto/wire/error.h"

namespace plait {
namespace {

// 100 ms: soon enough for a progress bar, seldom enough for a disk.
constexpr absl::Duration kDelay = absl::Milliseconds(100);

}  // namespace

SqliteWriter::SqliteWriter(std::unique_ptr<Database> database)
    : database_(std::move(database)), thread_([this] { Run(); }) {}

SqliteWriter::~SqliteWriter() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  thread_.join();
}

absl::Status SqliteWriter::Write(absl::FunctionRef<absl::Status()> operation) {
  // On this stack: the thread is done with it before the wait ends.
  Pending pending;
  pending.operation = operation;
  absl::MutexLock lock(&mutex_);
  urgent_.push_back(&pending);
  mutex_.Await(absl::Condition(&pending.done));
  return pending.status;
}

absl::Status SqliteWriter::WriteSoon(absl::string_view key, Operation operation,
                                     std::function<void()> committed) {
  absl::MutexLock lock(&mutex_);
  const auto has_room = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return delayed_.size() < static_cast<size_t>(kDelayedWritesMax);
  };
  mutex_.Await(absl::Condition(&has_room));
  if (!key.empty()) {
    const auto same = std::find_if(delayed_.begin(), delayed_.end(),
                                   [&](const Pending& pending) { return pending.key == key; });
    // Removed and appended again: it must not move in front of what was said in between.
    if (same != delayed_.end()) delayed_.erase(same);
  }
  Pending pending;
  pending.key = std::string(key);
  pending.operation = std::move(operation);
  pending.committed = std::move(committed);
  delayed_.push_back(std::move(pending));
  return TakeError();
}

absl::Status SqliteWriter::Flush() {
  // Delayed operations are written before urgent ones, in the same transaction.
  const absl::Status status = Write([] { return absl::OkStatus(); });
  absl::MutexLock lock(&mutex_);
  const absl::Status delayed = TakeError();
  return status.ok() ? delayed : status;
}

void SqliteWriter::Run() {
  Batch batch;
  while (TakeBatch(batch)) {
    WriteBatch(batch);
    batch = Batch();
  }
}

// False when the writer stops and everything is written.
bool SqliteWriter::TakeBatch(Batch& batch) {
  absl::MutexLock lock(&mutex_);
  mutex_.Await(absl::Condition(this, &SqliteWriter::HasWork));
  // Only delayed ones: more may come, and an urgent one would take them along.
  if (!HasUrgent()) {
    mutex_.AwaitWithTimeout(absl::Condition(this, &SqliteWriter::HasUrgent), kDelay);
  }
  // Whatever arrives from now on waits for the next transaction.
  std::swap(batch.urgent, urgent_);
  std::swap(batch.delayed, delayed_);
  return !batch.urgent.empty() || !batch.delayed.empty();
}

void SqliteWriter::WriteBatch(Batch& batch) {
  const absl::Status status = WriteAll(batch);
  const auto tell = [&](Pending& pending) {
    const bool knows_more = &pending == batch.running && !pending.status.ok();
    if (!status.ok() && !knows_more) pending.status = status;
  };
  // Listeners are called without the lock, and before the urgent callers go on.
  absl::Status delayed_error;
  for (Pending& pending : batch.delayed) {
    tell(pending);
    if (!pending.status.ok()) delayed_error = pending.status;
    if (pending.status.ok() && pending.committed) pending.committed();
  }
  absl::MutexLock lock(&mutex_);
  if (!delayed_error.ok()) delayed_error_ = delayed_error;
  for (Pending* pending : batch.urgent) {
    tell(*pending);
    pending->done = true;
  }
}

absl::Status SqliteWriter::WriteAll(Batch& batch) {
  PLAIT_ASSIGN_OR_RETURN(Transaction transaction, Transaction::Begin(*database_));
  for (Pending& pending : batch.delayed) {
    batch.running = &pending;
    PLAIT_RETURN_IF_ERROR(RunInSavepoint(pending));
  }
  for (Pending* pending : batch.urgent) {
    batch.running = pending;
    PLAIT_RETURN_IF_ERROR(RunInSavepoint(*pending));
  }
  batch.running = nullptr;
  // The one fsync. Nobody in the batch is told OK before it, which is what "never lost" means.
  return transaction.Commit();
}

absl::Status SqliteWriter::RunInSavepoint(Pending& pending) {
  pending.status = database_->Execute("SAVEPOINT operation");
  if (!pending.status.ok()) return CheckInTransaction();
  pending.status = pending.operation();
  if (!pending.status.ok()) database_->Execute("ROLLBACK TO operation").IgnoreError();
  PLAIT_RETURN_IF_ERROR(CheckInTransaction());
  const absl::Status released = database_->Execute("RELEASE operation");
  if (pending.status.ok()) pending.status = released;
  return CheckInTransaction();
}

absl::Status SqliteWriter::CheckInTransaction() const {
  if (database_->IsInTransaction()) return absl::OkStatus();
  return wire::Error(
      v1::ERROR_REASON_STORAGE_UNAVAILABLE,
      "the database took back the transaction (is the disk full?); nothing of it was stored");
}

absl::Status SqliteWriter::TakeError() { return std::exchange(delayed_error_, absl::OkStatus()); }

}  // namespace plait
