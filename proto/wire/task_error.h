#pragma once

#include "absl/status/status.h"
#include "plait/worker/v1/worker.pb.h"

namespace plait::wire {

// What a job is told when one of its tasks has failed for good: the error's message, with a reason
// in the place of its code. worker.proto says what a worker and the server mean by each code; one
// that it does not list, OK among them, becomes INTERNAL. Pure and thread-safe.
absl::Status StatusOfTask(const worker::v1::TaskError& error);

}  // namespace plait::wire
