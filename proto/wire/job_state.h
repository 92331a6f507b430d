#pragma once

#include <string>

#include "plait/v1/optimization.pb.h"

// The states of a job, as everybody names them. All functions are pure and thread-safe.
namespace plait::wire {

// SUCCEEDED, FAILED, CANCELLED and QUARANTINED, which are never left.
// The one list of them: a state that is added must be decided here. An unknown state is not final.
bool IsFinal(v1::JobState state);

// "QUEUED" for JOB_STATE_QUEUED: what logs, metrics, messages and the client print. A number that
// is no state, as from a newer program, has an empty name.
std::string JobStateName(v1::JobState state);

}  // namespace plait::wire
