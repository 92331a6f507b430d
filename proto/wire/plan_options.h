#pragma once

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "plait/v1/optimization.pb.h"

// The options of a job that say for what its file holds plans. Pure and thread-safe.
namespace plait::wire {

// `field` is one of OptimizeOptions.
absl::Status InvalidOption(absl::string_view field, absl::string_view description);

// `plan_for`, `allow_predicted` and `shape_ranges`, and what they exclude; each entry of `plan_for`
// gets the job's device where it names none. REQUIRES: device and body are filled in.
// Errors: InvalidArgument naming the field, what it is and what is allowed.
absl::Status CheckPlanOptions(v1::OptimizeOptions& options);

}  // namespace plait::wire
