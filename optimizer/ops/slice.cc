#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "optimizer/ops/shared/axes.h"
#include "optimizer/ops/shared/movement.h"
#include "optimizer/ops/shared/type_set.h"
#include "optimizer/ops/shared/versions.h"

namespace plait {
namespace {

constexpr size_t kStarts = 1;
constexpr size_t kEnds = 2;
constexpr size_t kAxes = 3;
constexpr size_t kSteps = 4;

// What is taken of one axis: `count` elements from `start` on, `step` apart.
struct Range {
  int64_t start = 0;
  int64_t step = 1;
  int64_t count = 0;
};

// Negative bounds count from the end, and all are clamped to the axis, as numpy does.
// REQUIRES: step != 0.
Range ClampedRange(int64_t start, int64_t end, int64_t step, int64_t dim) {
  if (dim == 0) return Range{};
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
  return Range{count == 0 ? 0 : start, count > 1 ? step : 1, count};
}

// The axes that are named, else the first `count` ones.
absl::StatusOr<std::vector<int>> SlicedAxes(const OpCall& call, size_t count) {
  const int rank = call.input_types[0].rank();
  if (call.has_input(kAxes)) {
    PLAIT_ASSIGN_OR_RETURN(const std::vector<int64_t> given, ConstantInts(call, kAxes));
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

// One range per axis of the input.
absl::StatusOr<std::vector<Range>> Ranges(const OpCall& call) {
  PLAIT_ASSIGN_OR_RETURN(const std::vector<int64_t> starts, ConstantInts(call, kStarts));
  PLAIT_ASSIGN_OR_RETURN(const std::vector<int64_t> ends, ConstantInts(call, kEnds));
  PLAIT_ASSIGN_OR_RETURN(const std::vector<int> axes, SlicedAxes(call, starts.size()));
  std::vector<int64_t> steps(starts.size(), 1);
  if (call.has_input(kSteps)) {
    PLAIT_ASSIGN_OR_RETURN(steps, ConstantInts(call, kSteps));
  }
  if (ends.size() != starts.size() || axes.size() != starts.size() ||
      steps.size() != starts.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("starts, ends, axes and steps must have equal lengths, have ", starts.size(),
                     ", ", ends.size(), ", ", axes.size(), " and ", steps.size()));
  }
  std::vector<Range> ranges;
  for (int64_t dim : call.input_types[0].shape) ranges.push_back(Range{0, 1, dim});
  for (size_t i = 0; i < axes.size(); ++i) {
    if (steps[i] == 0) return absl::InvalidArgumentError("steps must not be 0");
    ranges[axes[i]] =
        ClampedRange(starts[i], ends[i], steps[i], call.input_types[0].shape[axes[i]]);
  }
  return ranges;
}

Types Infer(const OpCall& call) {
  PLAIT_RETURN_IF_ERROR(CheckDataType(call, 0, TypeSet::kAny));
  PLAIT_ASSIGN_OR_RETURN(const std::vector<Range> ranges, Ranges(call));
  TensorType type{call.input_types[0].dtype, {}};
  for (const Range& range : ranges) type.shape.push_back(range.count);
  return std::vector<TensorType>{std::move(type)};
}

// One strided copy, however many axes are cut: x[::2, 5:1:-1] of [4,6] starts at 5 and walks by
// strides [12,-1].
absl::Status Evaluate(const OpCall& call, EvalInputs inputs, EvalOutputs outputs) {
  PLAIT_ASSIGN_OR_RETURN(const std::vector<Range> ranges, Ranges(call));
  Shape strides = RowMajorStrides(inputs[0]->type.shape);
  int64_t start = 0;
  for (size_t axis = 0; axis < ranges.size(); ++axis) {
    start += ranges[axis].start * strides[axis];
    strides[axis] *= ranges[axis].step;
  }
  CopyStrided(*inputs[0], start, outputs[0].type.shape, strides, &outputs[0]);
  return absl::OkStatus();
}

// Opset 10 made the attributes inputs and added steps.
absl::Status Raise(VersionedNode* node) {
  if (node->opset >= 10) return absl::OkStatus();
  IntsAttributeToInput(node, "starts", kStarts);
  IntsAttributeToInput(node, "ends", kEnds);
  IntsAttributeToInput(node, "axes", kAxes);
  return absl::OkStatus();
}

absl::Status Lower(VersionedNode* node) {
  if (node->opset >= 10) return absl::OkStatus();
  PLAIT_ASSIGN_OR_RETURN(const std::optional<std::vector<int64_t>> steps,
                         IntsOfInput(*node, kSteps));
  if (steps.has_value() &&
      !std::all_of(steps->begin(), steps->end(), [](int64_t step) { return step == 1; })) {
    return NeedsOpset("a step other than 1", 10);
  }
  DropInput(node, kSteps);
  PLAIT_RETURN_IF_ERROR(IntsInputToAttribute(node, "axes", kAxes));
  PLAIT_RETURN_IF_ERROR(IntsInputToAttribute(node, "ends", kEnds));
  PLAIT_RETURN_IF_ERROR(IntsInputToAttribute(node, "starts", kStarts));
  MakeAxesPositive(node, "axes", node->input_types[0].rank());
  return absl::OkStatus();
}

}  // namespace

// y[i] = x[start + i * step] along each axis named, whole along the others. Attributes before opset
// 10, which added steps.
const OpSpec kSliceSpec = {
    .kind = OpKind::kSlice,
    .inputs = {3, 5},
    .traits = kDataMovement,
    .infer = Infer,
    .work = MovementWork,
    .evaluate = Evaluate,
    .raise = Raise,
    .lower = Lower,
};

}  // namespace plait
