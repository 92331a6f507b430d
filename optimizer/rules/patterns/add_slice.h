#pragma once

#include "absl/types/span.h"
#include "optimizer/ops/shared/slice_ranges.h"
#include "optimizer/rules/patterns/rewrite_builder.h"

namespace plait {

// Adds the Slice that takes `ranges` of x, one for each of its axes; x itself when they are all of
// it. REQUIRES: they lie within x, and no step is negative.
TensorId AddSlice(RewriteBuilder* builder, TensorId x, absl::Span<const SliceRange> ranges);

}  // namespace plait
