#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "base/clock.h"
#include "storage/blob_store.h"

namespace plait {

// Blobs as files in BlobsFolder(DIRECTORY), by BlobPath, written to DIRECTORY/uploads,
// synchronized, checked and renamed, so that a file in blobs/ is always whole. Unfinished uploads
// survive a restart. Thread-safe; one process at a time (see DirectoryLock). `clock` must outlive
// the store.
// Errors: Unavailable or ResourceExhausted when the directories cannot be made.
//
// What a crash leaves: an upload, which goes on at its end; one of the daemon's own, or a file that
// was being checked, which is removed at the next start, so that its client uploads again; or a
// whole blob.
absl::StatusOr<std::unique_ptr<BlobStore>> OpenFileBlobStore(const std::string& directory,
                                                             Clock& clock);

}  // namespace plait
