#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "optimizer/ops/shared/op_spec.h"

namespace plait {

// A Slice's inputs behind the data.
inline constexpr size_t kSliceStarts = 1;
inline constexpr size_t kSliceEnds = 2;
inline constexpr size_t kSliceAxes = 3;
inline constexpr size_t kSliceSteps = 4;

// What a Slice takes of one axis: `count` elements from `start` on, `step` apart. The step is 1
// where fewer than two are taken, and negative backwards. x[5:1:-2] of ten is {5, -2, 2}.
struct SliceRange {
  int64_t start = 0;
  int64_t step = 1;
  int64_t count = 0;
};

// One range per axis of the Slice's input, whole ones included, all within the axis.
// Errors: InvalidArgument for lists of different lengths, axes out of range and steps of 0;
// Unimplemented for bounds that are no inline constants.
absl::StatusOr<std::vector<SliceRange>> ReadSlice(const OpCall& call);
absl::StatusOr<std::vector<SliceRange>> ReadSlice(const Graph& graph, NodeId slice);
absl::StatusOr<std::vector<SliceRange>> ReadSlice(const GraphBuilder& builder, const Node& slice);

}  // namespace plait
