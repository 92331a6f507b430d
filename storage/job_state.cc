#include "storage/job_state.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "proto/wire/error.h"

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

bool IsFinal(v1::JobState state) {
  return state == v1::JOB_STATE_SUCCEEDED || state == v1::JOB_STATE_FAILED ||
         state == v1::JOB_STATE_CANCELLED || state == v1::JOB_STATE_QUARANTINED;
}

absl::Status MoveJob(v1::Job& job, v1::JobState next) {
  for (const Transition& transition : kTransitions) {
    if (transition.from == job.state() && transition.to == next) {
      job.set_state(next);
      return absl::OkStatus();
    }
  }
  return wire::Error(v1::ERROR_REASON_WRONG_STATE,
                     absl::StrCat("job ", job.id(), ": cannot go from ", JobStateName(job.state()),
                                  " to ", JobStateName(next)));
}

std::string JobStateName(v1::JobState state) {
  return std::string(absl::StripPrefix(v1::JobState_Name(state), "JOB_STATE_"));
}

}  // namespace plait
