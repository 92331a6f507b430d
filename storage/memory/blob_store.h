#pragma once

#include <memory>

#include "base/clock.h"
#include "storage/blob_store.h"

namespace plait {

// Blobs in memory: for tests and trials. Nothing survives the process. Open gives a copy in an
// anonymous file, because a child needs a descriptor. Thread-safe.
// `clock` must outlive the store.
std::unique_ptr<BlobStore> NewMemoryBlobStore(Clock& clock);

}  // namespace plait
