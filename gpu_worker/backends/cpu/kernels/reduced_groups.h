#pragma once

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "optimizer/ir/tensor_type.h"

namespace plait {

// Axes of a row-major tensor that are all reduced or all kept.
struct ReducedGroup {
  int64_t size;  // elements along all of them
  bool is_reduced;
};

// The axes as a reduction sees them, outermost first: neighbours of one kind are one group, and an
// axis of one element is in none. [4, 1, 6, 5, 3] over axes 0 and 3 is 4 reduced, 6 kept, 5 reduced
// and 3 kept.
std::vector<ReducedGroup> ReducedGroupsOf(const Shape& shape, absl::Span<const int> axes);

}  // namespace plait
