#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "plait/v1/optimization.pb.h"

// Why a job fails, for errors of the optimizer, which knows no reasons. All functions are pure and
// thread-safe, and leave OK as it is.
namespace plait {

// Of reading or binding the model: MODEL_REJECTED, or LIMIT_EXCEEDED for a limit.
absl::Status ModelFailure(const absl::Status& status);

// Of the search with these options. A task's error keeps its reason; a log that is not the job's is
// INVALID_REQUEST, a node that the device has no kernel for UNSUPPORTED: that one says why kernels
// could not be measured.
absl::Status SearchFailure(const absl::Status& status, const v1::OptimizeOptions& options,
                           absl::Span<const std::string> kernel_failures = {});

}  // namespace plait
