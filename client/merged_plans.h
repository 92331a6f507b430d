#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace plait {

// The file at the first path with the plans of the others behind its own: files that were optimized
// from one model on several machines. Of plans for the same device and shapes the first one stays.
// What is wrong with a plan is a warning, and it is left out. Deterministic.
// Errors: those of ReadModelFile and ImportOnnx, naming the file; INVALID_REQUEST for a file with
// another body than the first, and for more plans than a file may hold.
absl::StatusOr<std::string> MergePlanFiles(absl::Span<const std::string> paths,
                                           std::vector<std::string>* warnings);

}  // namespace plait
