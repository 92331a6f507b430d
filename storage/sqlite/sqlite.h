#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <sqlite3.h>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/status_macros.h"

// The only file that sees SQLite, with its .cc: a connection, a statement and a transaction that
// clean up after themselves and answer with statuses. In use:
//
//   PLAIT_ASSIGN_OR_RETURN(Transaction transaction, Transaction::Begin(database));
//   PLAIT_RETURN_IF_ERROR(database.Execute("DELETE FROM jobs WHERE id = ?", id));
//   PLAIT_RETURN_IF_ERROR(transaction.Commit());
namespace plait {

// What COMMIT promises: kFull: on disk; kNormal: after a power loss the last ones may be missing.
// The database is whole in either case.
// kFull is for jobs, whose loss is a broken promise; kNormal for profiles, which can be measured
// again.
enum class Durability { kFull, kNormal };

// A prepared statement on its way through its rows. Back in its connection's cache afterwards, so
// that its SQL is compiled once.
// REQUIRES: no second Statement of the same SQL at the same time. Not thread-safe; must not outlive
// its connection.
class Statement {
 public:
  explicit Statement(sqlite3_stmt* statement) : statement_(statement) {}
  ~Statement() { Reset(); }
  Statement(Statement&& other) noexcept : statement_(std::exchange(other.statement_, nullptr)) {}
  Statement& operator=(Statement&&) = delete;

  // True when there is a row.
  // Errors: as Database::Execute.
  absl::StatusOr<bool> Step();

  // Columns of the present row, from 0.
  // REQUIRES: Step returned true. NULL reads as 0 and as the empty text.
  int64_t Integer(int column) const { return sqlite3_column_int64(statement_, column); }
  std::string Text(int column) const;

 private:
  friend class Database;

  // Parameters count from 1. Text and blobs are copied and may hold any byte.
  absl::Status Bind(int index, int64_t value);
  absl::Status Bind(int index, int value) { return Bind(index, int64_t{value}); }
  absl::Status Bind(int index, absl::string_view value);
  absl::Status Bind(int index, const std::string& value) {
    return Bind(index, absl::string_view(value));
  }
  absl::Status Bind(int index, const char* value) { return Bind(index, absl::string_view(value)); }

  // Ready for the next use; keeps no parameter alive.
  void Reset();

  // Borrowed from the connection's cache.
  sqlite3_stmt* statement_;
};

// One connection to a database in WAL mode. Used by one thread at a time.
//
// A reader on a connection of its own sees what was committed when it began, and never waits for a
// writer.
class Database {
 public:
  // Creates the file when it is missing.
  // Errors: DataLoss when its beginning is damaged or it is no database; Unavailable;
  // ResourceExhausted.
  static absl::StatusOr<std::unique_ptr<Database>> Open(const std::string& path,
                                                        Durability durability);
  // Takes over a connection; callers want Open.
  Database(sqlite3* connection, std::string path)
      : connection_(connection), path_(std::move(path)) {}
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  // A statement with its parameters bound in order, before its first row. Its SQL is compiled when
  // it is first seen and kept for as long as the connection lives, so it must not hold values.
  // Errors: as Execute.
  template <typename... Values>
  absl::StatusOr<Statement> Query(const std::string& sql, const Values&... values) {
    PLAIT_ASSIGN_OR_RETURN(Statement statement, Prepare(sql));
    absl::Status status;
    int index = 0;
    ((status.ok() ? static_cast<void>(status = statement.Bind(++index, values))
                  : static_cast<void>(0)),
     ...);
    PLAIT_RETURN_IF_ERROR(status);
    return statement;
  }

  // Runs a statement whose rows do not matter.
  // Errors: ResourceExhausted (disk full), DataLoss (damaged), AlreadyExists (a key is taken),
  // Unavailable (any other fault of the storage), Internal (wrong SQL).
  template <typename... Values>
  absl::Status Execute(const std::string& sql, const Values&... values) {
    PLAIT_ASSIGN_OR_RETURN(Statement statement, Query(sql, values...));
    return statement.Step().status();
  }

  // Runs a script of several statements without parameters; those before a wrong one have run.
  // Errors: as Execute.
  absl::Status ExecuteScript(const std::string& sql);

  // Reads the whole file and compares its pages with each other; a gigabyte takes seconds.
  // Errors: DataLoss naming what is damaged first; as Execute.
  absl::Status Check();

  // Of the last INSERT, and of the last statement that changes rows, on this connection.
  int64_t LastInsertedNumber() const { return sqlite3_last_insert_rowid(connection_); }
  int ChangedRows() const { return sqlite3_changes(connection_); }
  // False also after SQLite has rolled a transaction back by itself, as it does when the disk is
  // full or fails.
  bool IsInTransaction() const { return sqlite3_get_autocommit(connection_) == 0; }
  // The file, for messages.
  const std::string& path() const { return path_; }

 private:
  // From the cache, or compiled into it.
  absl::StatusOr<Statement> Prepare(const std::string& sql);

  sqlite3* connection_;  // owned
  std::string path_;     // for messages
  absl::flat_hash_map<std::string, sqlite3_stmt*> statements_;
};

// Everything between Begin and Commit happens or nothing does: rolled back when it is destroyed
// before Commit succeeded. One at a time per connection; must not outlive it.
class Transaction {
 public:
  // Takes the write lock at once, so that no later statement can fail for want of it.
  // Errors: as Database::Execute.
  // REQUIRES: no other transaction of the connection is open.
  static absl::StatusOr<Transaction> Begin(Database& database);
  ~Transaction();
  Transaction(Transaction&& other) noexcept : database_(std::exchange(other.database_, nullptr)) {}
  Transaction& operator=(Transaction&&) = delete;

  // OK: durable as the connection's Durability says. Otherwise nothing has happened.
  // Errors: as Database::Execute.
  // After a failure the destructor rolls back. REQUIRES: called once.
  absl::Status Commit();

 private:
  explicit Transaction(Database* database) : database_(database) {}

  // nullptr when it was committed or moved away.
  Database* database_;
};

}  // namespace plait
