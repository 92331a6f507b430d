#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "base/arguments.h"
#include "plait/v1/optimization.pb.h"

namespace plait {

// The options that say how to optimize: --device, --search, --schedule, --threads and so on.
// The names of policies come from the lists that requests are checked against.
void AddJobOptions(std::vector<OptionSpec>* options);

// Those options as a job has them, with names and limits checked and defaults filled in.
// Errors: InvalidArgument naming the option and what is allowed.
// REQUIRES: AddJobOptions made the options that were parsed. The server checks them again.
absl::StatusOr<v1::OptimizeOptions> JobOptions(const Arguments& arguments);

}  // namespace plait
