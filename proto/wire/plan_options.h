#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "plait/v1/optimization.pb.h"

// The options of a job that say for what its file holds plans, and how many threads a device has.
// Pure and thread-safe.
namespace plait::wire {

// `field` is one of OptimizeOptions.
absl::Status InvalidOption(absl::string_view field, absl::string_view description);

// `plan_for`, `allow_predicted` and `shape_ranges`, and what they exclude; each entry of `plan_for`
// gets the job's device where it names none. REQUIRES: device and body are filled in.
// Errors: InvalidArgument naming the field, what it is and what is allowed.
absl::Status CheckPlanOptions(v1::OptimizeOptions& options);

// What is said of more threads than a device has: how many that are, what limits them, and how many
// are asked for.
std::string TooManyThreads(absl::string_view device, int has, int64_t asked);

// Whether a device with so many threads has those that are asked for: `threads`, and those of
// `plan_for` that have to be measured. REQUIRES: `options` came from CheckedOptions.
// Errors: InvalidArgument as TooManyThreads, naming the field and the way out.
absl::Status CheckThreads(const v1::OptimizeOptions& options, int device_threads);

}  // namespace plait::wire
