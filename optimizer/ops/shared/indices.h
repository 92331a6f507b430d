#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"

namespace plait {

// Checks what Gather and its kind read: along an axis of `dim` elements, negative indices count
// from the back. Constant indices are checked when types are inferred, others when the operator
// runs. Errors: InvalidArgument when an index is not in [-dim, dim).
absl::Status CheckIndices(absl::Span<const int64_t> indices, int64_t dim);

// Checks what GatherND and ScatterND read: tuples of indices, one for each of `dims`.
// Errors: as CheckIndices. REQUIRES: `dims` is not empty and its size divides that of `indices`.
absl::Status CheckIndexTuples(absl::Span<const int64_t> indices, absl::Span<const int64_t> dims);

// Where a tuple that was checked points in a row-major tensor of shape `dims`.
int64_t OffsetOfTuple(absl::Span<const int64_t> tuple, absl::Span<const int64_t> dims);

}  // namespace plait
