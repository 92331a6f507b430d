#include "storage/job_state.h"

#include "absl/strings/str_cat.h"
#include "proto/wire/error.h"
#include "proto/wire/job_state.h"

namespace plait {
namespace {

struct Transition {
  v1::JobState from;
  v1::JobState to;
};

// The one table; whatever is not in it cannot happen.
constexpr Transition kTransitions[] = {
    {v1::JOB_STATE_QUEUED, v1::JOB_STATE_RUNNING},    // acquired by a runner
    {v1::JOB_STATE_QUEUED, v1::JOB_STATE_CANCELLED},  // cancelled before it began
    {v1::JOB_STATE_RUNNING, v1::JOB_STATE_QUEUED},    // its daemon died, or a fault below the limit
    {v1::JOB_STATE_RUNNING, v1::JOB_STATE_SUCCEEDED},
    {v1::JOB_STATE_RUNNING, v1::JOB_STATE_FAILED},
    {v1::JOB_STATE_RUNNING, v1::JOB_STATE_CANCELLED},
    {v1::JOB_STATE_RUNNING, v1::JOB_STATE_QUARANTINED},  // the last fault that is allowed
};

}  // namespace

absl::Status MoveJob(v1::Job& job, v1::JobState next) {
  for (const Transition& transition : kTransitions) {
    if (transition.from == job.state() && transition.to == next) {
      job.set_state(next);
      return absl::OkStatus();
    }
  }
  // The job keeps its state: a caller that goes on writes nothing wrong.
  return wire::Error(
      v1::ERROR_REASON_WRONG_STATE,
      absl::StrCat("job ", job.id(), ": cannot go from ", wire::JobStateName(job.state()), " to ",
                   wire::JobStateName(next)));
}

}  // namespace plait
