#pragma once

#include <memory>

#include "base/clock.h"
#include "storage/blob_store.h"

namespace plait {

// Blobs in memory: for tests and trials. Nothing survives the process. Open gives a copy in an
// anonymous file, because a child needs a descriptor. Thread-safe.
// `clock` must outlive the store.
// It makes the same checks as the files do, so a test sees the same errors.
std::unique_ptr<BlobStore> NewMemoryBlobStore(Clock& clock);

}  // namespace plait
