#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "gpu_worker/simulated_gpu/driver/faults.h"

namespace plait::simulated_gpu {

// Faults as an environment variable has them: "cudnnBackendExecute:error:3,cuMemAlloc:memory", each
// a function, what goes wrong (error, sticky, memory, hang, lost), and how many calls go well
// before. Errors: kInvalidArgument.
absl::StatusOr<std::vector<Fault>> FaultsFromText(absl::string_view text);

}  // namespace plait::simulated_gpu
