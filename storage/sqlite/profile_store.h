#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "storage/profile_store.h"

namespace plait {

// Profiles in an SQLite file of their own with synchronous=NORMAL: losing the last ones with the
// power costs a measurement, an fsync for each would cost every job. Thread-safe.
// Errors: DataLoss when the file is damaged; FailedPrecondition when it is from a newer plait;
// Unavailable; ResourceExhausted.
// The loss of power loses at most the last transactions; the file is whole in any case.
absl::StatusOr<std::unique_ptr<ProfileStore>> OpenSqliteProfileStore(const std::string& path);

}  // namespace plait
