#include "storage/sqlite/sqlite.h"

#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/wire/error.h"

namespace plait {
namespace {

// 5 s: only a backup tool or a second reader can hold the lock, and then briefly.
constexpr int kBusyMsMax = 5000;

absl::Status Damaged(absl::string_view message) {
  return wire::WithReason(
      absl::DataLossError(
          absl::StrCat(message, "; the file is damaged: restore it from a backup or move it away")),
      v1::ERROR_REASON_STORAGE_UNAVAILABLE);
}

// SQLite's result as a status: what an operator can do about it decides the code.
absl::Status DatabaseError(sqlite3* connection, int result) {
  const char* name = sqlite3_db_filename(connection, "main");
  const std::string message =
      absl::StrCat("database ", name == nullptr ? "" : name, ": ",
                   connection == nullptr ? sqlite3_errstr(result) : sqlite3_errmsg(connection));
  // The extended codes keep the primary one in the low byte.
  switch (result & 0xFF) {
    case SQLITE_FULL:
      return wire::WithReason(
          absl::ResourceExhaustedError(absl::StrCat(message, "; free some space on its disk")),
          v1::ERROR_REASON_STORAGE_UNAVAILABLE);
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return Damaged(message);
    case SQLITE_CONSTRAINT:
      return absl::AlreadyExistsError(message);
    case SQLITE_ERROR:
    case SQLITE_MISUSE:
    case SQLITE_RANGE:
      return absl::InternalError(message);
    default:
      return wire::Error(v1::ERROR_REASON_STORAGE_UNAVAILABLE, message);
  }
}

}  // namespace

absl::StatusOr<bool> Statement::Step() {
  const int result = sqlite3_step(statement_);
  if (result == SQLITE_ROW) return true;
  if (result == SQLITE_DONE) return false;
  return DatabaseError(sqlite3_db_handle(statement_), result);
}

std::string Statement::Text(int column) const {
  const void* bytes = sqlite3_column_blob(statement_, column);
  const int size = sqlite3_column_bytes(statement_, column);
  return bytes == nullptr ? std::string() : std::string(static_cast<const char*>(bytes), size);
}

absl::Status Statement::Bind(int index, int64_t value) {
  const int result = sqlite3_bind_int64(statement_, index, value);
  if (result == SQLITE_OK) return absl::OkStatus();
  return DatabaseError(sqlite3_db_handle(statement_), result);
}

absl::Status Statement::Bind(int index, absl::string_view value) {
  // As a blob, so that NUL bytes are bytes like any other; a null pointer would be SQL's NULL.
  const char* bytes = value.empty() ? "" : value.data();
  const int result = sqlite3_bind_blob64(statement_, index, bytes, value.size(), SQLITE_TRANSIENT);
  if (result == SQLITE_OK) return absl::OkStatus();
  return DatabaseError(sqlite3_db_handle(statement_), result);
}

void Statement::Reset() {
  if (statement_ == nullptr) return;
  sqlite3_reset(statement_);
  sqlite3_clear_bindings(statement_);
}

absl::StatusOr<std::unique_ptr<Database>> Database::Open(const std::string& path,
                                                         Durability durability) {
  sqlite3* connection = nullptr;
  const int result = sqlite3_open_v2(
      path.c_str(), &connection,
      SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE,
      nullptr);
  // Also after an error: SQLite wants even a failed connection to be closed.
  auto database = std::make_unique<Database>(connection, path);
  if (result != SQLITE_OK) {
    return Annotate(DatabaseError(connection, result), absl::StrCat("cannot open ", path));
  }
  // WAL: readers never wait for the writer, nor it for them. The file keeps that mode.
  sqlite3_busy_timeout(connection, kBusyMsMax);
  {
    PLAIT_ASSIGN_OR_RETURN(Statement mode, database->Query("PRAGMA journal_mode = WAL"));
    PLAIT_RETURN_IF_ERROR(mode.Step().status());
    // It answers with the mode that it has, and stays as it was where memory cannot be shared.
    if (mode.Text(0) != "wal") {
      return wire::Error(v1::ERROR_REASON_STORAGE_UNAVAILABLE,
                         absl::StrCat("database ", path, ": its file system keeps SQLite from WAL ",
                                      "mode (use a local disk)"));
    }
  }
  PLAIT_RETURN_IF_ERROR(database->ExecuteScript(
      absl::StrCat("PRAGMA foreign_keys = ON; PRAGMA synchronous = ",
                   durability == Durability::kFull ? "FULL" : "NORMAL", ";")));
  return database;
}

Database::~Database() {
  for (const auto& [sql, statement] : statements_) sqlite3_finalize(statement);
  sqlite3_close_v2(connection_);
}

absl::Status Database::ExecuteScript(const std::string& sql) {
  const int result = sqlite3_exec(connection_, sql.c_str(), nullptr, nullptr, nullptr);
  return result == SQLITE_OK ? absl::OkStatus() : DatabaseError(connection_, result);
}

absl::Status Database::Check() {
  PLAIT_ASSIGN_OR_RETURN(Statement check, Query("PRAGMA quick_check(1)"));
  PLAIT_RETURN_IF_ERROR(check.Step().status());
  if (check.Text(0) == "ok") return absl::OkStatus();
  return Damaged(absl::StrCat("database ", path_, ": ", check.Text(0)));
}

absl::StatusOr<Statement> Database::Prepare(const std::string& sql) {
  sqlite3_stmt*& cached = statements_[sql];
  if (cached == nullptr) {
    const int result = sqlite3_prepare_v3(connection_, sql.c_str(), sql.size() + 1,
                                          SQLITE_PREPARE_PERSISTENT, &cached, nullptr);
    if (result != SQLITE_OK) return DatabaseError(connection_, result);
  }
  // The same statement inside its own loop would lose its place in the rows.
  PLAIT_CHECK(sqlite3_stmt_busy(cached) == 0);
  return Statement(cached);
}

absl::StatusOr<Transaction> Transaction::Begin(Database& database) {
  PLAIT_RETURN_IF_ERROR(database.Execute("BEGIN IMMEDIATE"));
  return Transaction(&database);
}

Transaction::~Transaction() {
  // SQLite rolls back by itself after some errors; a second ROLLBACK then fails, and harmlessly.
  if (database_ != nullptr) database_->Execute("ROLLBACK").IgnoreError();
}

absl::Status Transaction::Commit() {
  PLAIT_RETURN_IF_ERROR(database_->Execute("COMMIT"));
  database_ = nullptr;
  return absl::OkStatus();
}

}  // namespace plait
