#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "storage/sqlite/sqlite.h"

namespace plait {

// Brings a database to the newest schema. Script i leads from version i to i + 1; all of them run
// in one transaction together with the change of the version (PRAGMA user_version), so that a crash
// leaves the old version or the newest, nothing between. A new schema is a new script at the end.
// Errors: FailedPrecondition when the database is newer than the scripts; DataLoss when damaged.
absl::Status MigrateDatabase(Database& database, absl::Span<const char* const> scripts);

// The scripts of the two databases. A script that was released is never changed: databases that ran
// it would not be told.
absl::Span<const char* const> JobSchema();
absl::Span<const char* const> ProfileSchema();

}  // namespace plait
