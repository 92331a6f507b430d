#include "proto/wire/job_state.h"

#include "absl/strings/strip.h"

namespace plait::wire {

bool IsFinal(v1::JobState state) {
  return state == v1::JOB_STATE_SUCCEEDED || state == v1::JOB_STATE_FAILED ||
         state == v1::JOB_STATE_CANCELLED || state == v1::JOB_STATE_QUARANTINED;
}

std::string JobStateName(v1::JobState state) {
  // An unknown number has no name in protobuf, and an empty one here.
  return std::string(absl::StripPrefix(v1::JobState_Name(state), "JOB_STATE_"));
}

}  // namespace plait::wire
