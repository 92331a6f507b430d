#pragma once

#include "absl/status/statusor.h"
#include "gpu_worker/executor/executor.h"

namespace plait {

// Runs every kernel that `catalog`, the device's, offers for a small network of the common
// operators and compares it with the reference evaluation: within 1e-4, and where values lie in 16
// bits within four roundings to those. Returns the number of kernels that were right; takes a
// second.
// For `plait-worker --check`: that a device opens says nothing of its numbers.
// Errors: Internal naming the first kernel that is wrong or does not run.
absl::StatusOr<int> RunSelfTest(Executor& executor, const KernelCatalog& catalog);

}  // namespace plait
