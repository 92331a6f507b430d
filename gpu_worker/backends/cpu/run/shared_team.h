#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "gpu_worker/backends/cpu/team/team.h"

namespace plait {

// The team of as many threads as this process has processors, for executors that share them
// (ExecutorOptions::shares_threads). It is made for the first one, and ends with the last one.
// Thread-safe.
// Errors: FailedPrecondition when there is one whose threads are placed in another way.
absl::StatusOr<std::shared_ptr<Team>> SharedTeam(int threads, ThreadPlacement placement);

}  // namespace plait
