#pragma once

#include "absl/status/status.h"
#include "plait/v1/optimization.pb.h"

// The states of a job. All functions are pure and thread-safe.
namespace plait {

// SUCCEEDED, FAILED, CANCELLED and QUARANTINED, which are never left.
bool IsFinal(v1::JobState state);

// Moves `job` to `next` when the one table of allowed transitions has that step.
// Errors: FailedPrecondition (WRONG_STATE) naming both states; the job is unchanged then.
absl::Status MoveJob(v1::Job& job, v1::JobState next);

// "QUEUED" for JOB_STATE_QUEUED.
std::string JobStateName(v1::JobState state);

}  // namespace plait
