#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"

namespace plait {

// Checks what Gather and its kind read: along an axis of `dim` elements, negative indices count
// from the back. Constant indices are checked when types are inferred, others when the operator
// runs. Errors: InvalidArgument when an index is not in [-dim, dim).
absl::Status CheckIndices(absl::Span<const int64_t> indices, int64_t dim);

}  // namespace plait
