#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"

namespace plait {

// Errors: InvalidArgument when an index is not in [-dim, dim).
absl::Status CheckIndices(absl::Span<const int64_t> indices, int64_t dim);

}  // namespace plait
