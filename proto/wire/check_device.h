#pragma once

#include "absl/status/status.h"
#include "plait/v1/capability.pb.h"

namespace plait::wire {

// Whether a worker's description of its device can be believed as far as it goes: checked where a
// worker comes in, so that no job has to fail by it, and again by the search child. Pure and
// thread-safe.
// Errors: InvalidArgument naming the field, what it is and what is allowed: an id, backend or
// fingerprint that cannot be stored or shown, or a number that no device has.
absl::Status CheckDevice(const v1::Device& device);

}  // namespace plait::wire
