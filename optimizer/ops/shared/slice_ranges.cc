#include "optimizer/ops/shared/slice_ranges.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "optimizer/ops/shared/axes.h"

namespace plait {
namespace {

// Negative bounds count from the end, and all are clamped to the axis, as numpy does.
// REQUIRES: step != 0.
SliceRange ClampedRange(int64_t start, int64_t end, int64_t step, int64_t dim) {
  if (dim == 0) return SliceRange{};
  if (start < 0) start += dim;
  if (end < 0) end += dim;
  uint64_t distance = 0;
  uint64_t stride = static_cast<uint64_t>(step);
  if (step > 0) {
    start = std::clamp<int64_t>(start, 0, dim);
    end = std::clamp<int64_t>(end, 0, dim);
    distance = static_cast<uint64_t>(std::max<int64_t>(end - start, 0));
  } else {
    start = std::clamp<int64_t>(start, 0, dim - 1);
    end = std::clamp<int64_t>(end, -1, dim - 1);
    distance = static_cast<uint64_t>(std::max<int64_t>(start - end, 0));
    stride = uint64_t{0} - stride;
  }
  const int64_t count = distance == 0 ? 0 : static_cast<int64_t>((distance - 1) / stride + 1);
  // A step that is never made may be too large to multiply with.
  return SliceRange{count == 0 ? 0 : start, count > 1 ? step : 1, count};
}

// The axes that are named, else the first `count` ones.
absl::StatusOr<std::vector<int>> SlicedAxes(const OpCall& call, size_t count) {
  const int rank = call.input_types[0].rank();
  if (call.has_input(kSliceAxes)) {
    PLAIT_ASSIGN_OR_RETURN(const std::vector<int64_t> given, ConstantInts(call, kSliceAxes));
    return NormalizeAxes(given, rank);
  }
  if (count > static_cast<size_t>(rank)) {
    return absl::InvalidArgumentError(
        absl::StrCat("slices ", count, " axes, the input has ", rank));
  }
  std::vector<int> axes(count);
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

// The tensors are those of a builder or of a graph.
template <typename Tensors>
absl::StatusOr<std::vector<SliceRange>> ReadNode(const Tensors& tensors, const Node& node) {
  std::vector<TensorType> types;
  std::vector<const Tensor*> constants;
  for (const TensorId id : node.inputs) {
    const TensorInfo* const info = id == kNoTensor ? nullptr : &tensors.tensor(id);
    const bool is_constant = info != nullptr && info->constant != nullptr;
    types.push_back(info == nullptr ? TensorType{} : info->type);
    constants.push_back(is_constant ? info->constant->inline_value() : nullptr);
  }
  return ReadSlice(OpCall{*node.attributes, types, constants});
}

}  // namespace

absl::StatusOr<std::vector<SliceRange>> ReadSlice(const OpCall& call) {
  PLAIT_ASSIGN_OR_RETURN(const std::vector<int64_t> starts, ConstantInts(call, kSliceStarts));
  PLAIT_ASSIGN_OR_RETURN(const std::vector<int64_t> ends, ConstantInts(call, kSliceEnds));
  PLAIT_ASSIGN_OR_RETURN(const std::vector<int> axes, SlicedAxes(call, starts.size()));
  std::vector<int64_t> steps(starts.size(), 1);
  if (call.has_input(kSliceSteps)) {
    PLAIT_ASSIGN_OR_RETURN(steps, ConstantInts(call, kSliceSteps));
  }
  if (ends.size() != starts.size() || axes.size() != starts.size() ||
      steps.size() != starts.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("starts, ends, axes and steps must have equal lengths, have ", starts.size(),
                     ", ", ends.size(), ", ", axes.size(), " and ", steps.size()));
  }
  std::vector<SliceRange> ranges;
  for (int64_t dim : call.input_types[0].shape) ranges.push_back(SliceRange{0, 1, dim});
  for (size_t i = 0; i < axes.size(); ++i) {
    if (steps[i] == 0) return absl::InvalidArgumentError("steps must not be 0");
    ranges[axes[i]] =
        ClampedRange(starts[i], ends[i], steps[i], call.input_types[0].shape[axes[i]]);
  }
  return ranges;
}

absl::StatusOr<std::vector<SliceRange>> ReadSlice(const Graph& graph, NodeId slice) {
  return ReadNode(graph, graph.node(slice));
}

absl::StatusOr<std::vector<SliceRange>> ReadSlice(const GraphBuilder& builder, const Node& slice) {
  return ReadNode(builder, slice);
}

}  // namespace plait
