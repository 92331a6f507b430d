#pragma once

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace plait {

// The bytes of the job's model, which the child has inherited. They stay for as long as the process
// lives. Errors: MODEL_REJECTED without any; LIMIT_EXCEEDED; Internal.
absl::StatusOr<absl::string_view> MapModel();

}  // namespace plait
