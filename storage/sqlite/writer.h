#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "storage/sqlite/sqlite.h"

namespace plait {

// The one thread that writes to a database. Operations that wait at the same time share a
// transaction, and with it the one fsync that makes them durable (group commit). Thread-safe.
class SqliteWriter {
 public:
  // Works on database() inside the transaction that it runs in; never begins one of its own.
  using Operation = std::function<absl::Status()>;

  // Starts the thread, which alone uses the database from here on.
  // REQUIRES: no transaction is open.
  explicit SqliteWriter(std::unique_ptr<Database> database);
  // Writes what is delayed, then stops the thread.
  // REQUIRES: nobody waits in Write.
  ~SqliteWriter();

  // Runs `operation` on the writer's thread and waits until its transaction is on disk. An
  // operation that fails leaves no trace and does not disturb the others.
  // Errors: the operation's; those of the commit.
  //
  // Takes one fsync of time, shared with all who wait at the same moment: with many callers the
  // disk is not asked more often.
  absl::Status Write(absl::FunctionRef<absl::Status()> operation);

  // Runs `operation` in the next transaction, or in one of its own a moment from now; then calls
  // `committed` if it succeeded. Replaces a waiting operation with the same key unless the key is
  // empty. Waits only while kDelayedWritesMax are pending.
  // Errors: those of earlier delayed operations, once.
  absl::Status WriteSoon(absl::string_view key, Operation operation,
                         std::function<void()> committed);

  // Waits until all delayed operations are on disk.
  // Errors: theirs, once.
  absl::Status Flush();

  // REQUIRES: called inside an operation only.
  Database& database() { return *database_; }

 private:
  // An operation that waits for its transaction.
  struct Pending {
    std::string key;  // of a delayed one; may be empty
    Operation operation;
    std::function<void()> committed;  // of a delayed one; may be empty
    absl::Status status;
    bool done = false;  // whether an urgent one's caller may go on
  };
  // What shares a transaction. Delayed operations come first: they were said earlier.
  // The order within a batch is the order of what a client may have seen: events before the end of
  // their job.
  struct Batch {
    std::vector<Pending> delayed;
    std::vector<Pending*> urgent;  // owned by the callers that wait in Write
    // The one that ran last, with which the transaction may have gone; it knows best why.
    Pending* running = nullptr;
  };

  // The thread.
  void Run();
  // Waits for work; false when the writer stops and everything is written.
  bool TakeBatch(Batch& batch);
  // Writes a batch and tells everybody in it how it went.
  // When the commit fails, every operation in it has failed: nobody is told OK.
  void WriteBatch(Batch& batch);
  absl::Status WriteAll(Batch& batch);
  // So that an operation that fails leaves no trace in the transaction of the others.
  // Errors: those of CheckInTransaction, after which nothing of the batch may run; the operation's
  // own is in `pending`.
  absl::Status RunInSavepoint(Pending& pending);
  // A full or failing disk makes SQLite roll the whole transaction back by itself. The next
  // savepoint would begin a transaction of its own then, and its release commit it: an operation
  // that is told to have failed would be durable.
  // Errors: Unavailable when the transaction is gone.
  absl::Status CheckInTransaction() const;
  // The error of an earlier delayed operation, told once.
  absl::Status TakeError() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  bool HasUrgent() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return !urgent_.empty() || stopping_;
  }
  bool HasWork() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return HasUrgent() || !delayed_.empty();
  }

  // Opened by the caller, used by the thread only: operations that it runs may use it too.
  const std::unique_ptr<Database> database_;
  absl::Mutex mutex_;
  std::vector<Pending*> urgent_ ABSL_GUARDED_BY(mutex_);
  std::vector<Pending> delayed_ ABSL_GUARDED_BY(mutex_);
  absl::Status delayed_error_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // last, so that it starts when all else is ready
};

}  // namespace plait
