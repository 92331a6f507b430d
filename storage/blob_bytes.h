#pragma once

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "storage/blob_store.h"

namespace plait {

// Makes a blob of what `append` appends to the upload that it is given. Nothing of it is left when
// that or Finish fails: on a full disk a half-written blob is in the way of everybody.
// Errors: those of `append` and Finish.
absl::Status StoreBlob(BlobStore& store, const Digest& digest,
                       absl::FunctionRef<absl::Status(const BlobUpload&)> append);

// For bytes that are in memory anyway, such as reports and plans; models are streamed.
// Stores all of `bytes` as one blob and returns its digest.
// Errors: those of Append and Finish.
// Durable when it returns.
absl::StatusOr<Digest> PutBlob(BlobStore& store, absl::string_view bytes);

// All bytes of a complete blob.
// Errors: those of BlobStore::Read.
absl::StatusOr<std::string> ReadBlob(BlobStore& store, const Digest& digest);

}  // namespace plait
