#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace plait {

// A piece of a file beside the model. `path` is relative to the model's folder, was checked not to
// leave it, and has '/' between its parts; symbolic links are the reader's to refuse.
struct ExternalRange {
  std::string path;
  int64_t offset_bytes = 0;
  int64_t size_bytes = 0;
};
// Gives the bytes of a range, exactly as many as asked for; called once per tensor, in file order.
using ExternalReader = std::function<absl::StatusOr<std::string>(const ExternalRange& range)>;

// Whether a tensor's elements lie in another file, for who would rather not hold the model twice.
// Errors: those of PackExternalData that are the model's.
absl::StatusOr<bool> HasExternalData(absl::string_view model);

// For the client, before a model is sent: puts the external data of all tensors, those of subgraphs
// included, into the model as raw data. The size of each piece follows from the tensor's type. A
// model without external data stays as it is, byte for byte, and is not copied.
// Errors: InvalidArgument naming the tensor when its location is missing or leaves the model's
// folder, its numbers are malformed, or the file gives another number of bytes; those of `read`;
// ResourceExhausted, before anything is read, when the packed model would exceed
// kModelBytesMax.
absl::StatusOr<std::string> PackExternalData(std::string model, const ExternalReader& read);

}  // namespace plait
