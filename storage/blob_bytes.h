#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "storage/blob_store.h"

namespace plait {

// For bytes that are in memory anyway, such as reports and plans; models are streamed.
// Stores all of `bytes` as one blob and returns its digest.
// Errors: those of Append and Finish.
// Durable when it returns.
absl::StatusOr<Digest> PutBlob(BlobStore& store, absl::string_view bytes);

// All bytes of a complete blob.
// Errors: those of BlobStore::Read.
absl::StatusOr<std::string> ReadBlob(BlobStore& store, const Digest& digest);

}  // namespace plait
