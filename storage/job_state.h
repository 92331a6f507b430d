#pragma once

#include "absl/status/status.h"
#include "plait/v1/optimization.pb.h"

// The states of a job:
//   QUEUED -> RUNNING -> SUCCEEDED, FAILED, CANCELLED or QUARANTINED
//   QUEUED -> CANCELLED, and RUNNING -> QUEUED when a run was lost.
// All functions are pure and thread-safe.
namespace plait {

// Moves `job` to `next` when the one table of allowed transitions has that step.
// Errors: FailedPrecondition (WRONG_STATE) naming both states; the job is unchanged then.
absl::Status MoveJob(v1::Job& job, v1::JobState next);

}  // namespace plait
