#include <algorithm>
#include <limits>

#include "base/status_macros.h"
#include "optimizer/ops/shared/expansion.h"
#include "optimizer/ops/shared/movement.h"
#include "optimizer/ops/shared/slice_ranges.h"
#include "optimizer/ops/shared/type_set.h"
#include "optimizer/ops/shared/versions.h"

namespace plait {
namespace {

Types InferSlice(const OpCall& call) {
  PLAIT_RETURN_IF_ERROR(CheckDataType(call, 0, TypeSet::kAny));
  PLAIT_ASSIGN_OR_RETURN(const std::vector<SliceRange> ranges, ReadSlice(call));
  TensorType type{call.input_types[0].dtype, {}};
  for (const SliceRange& range : ranges) type.shape.push_back(range.count);
  return std::vector<TensorType>{std::move(type)};
}

// One strided copy, however many axes are cut: x[::2, 5:1:-1] of [4,6] starts at 5 and walks by
// strides [12,-1].
absl::Status EvaluateSlice(const OpCall& call, EvalInputs inputs, EvalOutputs outputs) {
  PLAIT_ASSIGN_OR_RETURN(const std::vector<SliceRange> ranges, ReadSlice(call));
  Shape strides = RowMajorStrides(inputs[0]->type.shape);
  int64_t start = 0;
  for (size_t axis = 0; axis < ranges.size(); ++axis) {
    start += ranges[axis].start * strides[axis];
    strides[axis] *= ranges[axis].step;
  }
  CopyStrided(*inputs[0], start, outputs[0].type.shape, strides, &outputs[0]);
  return absl::OkStatus();
}

// Opset 10 knew the largest number alone as the end of an unknown extent, backwards too; since 11
// it is the least number there.
void RaiseEnds(VersionedNode* node) {
  const auto ends = IntsOfInput(*node, kSliceEnds);
  const auto steps = IntsOfInput(*node, kSliceSteps);
  if (!ends.ok() || !ends->has_value() || !steps.ok() || !steps->has_value()) return;
  const TensorType type = node->input_types[kSliceEnds];
  const int64_t least = type.dtype == DataType::kInt32 ? std::numeric_limits<int32_t>::min()
                                                       : std::numeric_limits<int64_t>::min();
  std::vector<int64_t> raised = **ends;
  for (size_t i = 0; i < std::min(raised.size(), (*steps)->size()); ++i) {
    const bool is_largest = raised[i] == std::numeric_limits<int32_t>::max() ||
                            raised[i] == std::numeric_limits<int64_t>::max();
    if (is_largest && (**steps)[i] < 0) raised[i] = least;
  }
  if (raised != **ends) SetConstantInput(node, kSliceEnds, Tensor::FromInt64s(type, raised));
}

// Opset 10 made the attributes inputs and added steps.
absl::Status RaiseSlice(VersionedNode* node) {
  if (node->opset == 10) RaiseEnds(node);
  if (node->opset >= 10) return absl::OkStatus();
  IntsAttributeToInput(node, "starts", kSliceStarts);
  IntsAttributeToInput(node, "ends", kSliceEnds);
  IntsAttributeToInput(node, "axes", kSliceAxes);
  return absl::OkStatus();
}

absl::Status LowerSlice(VersionedNode* node) {
  if (node->opset >= 10) return absl::OkStatus();
  PLAIT_ASSIGN_OR_RETURN(const std::optional<std::vector<int64_t>> steps,
                         IntsOfInput(*node, kSliceSteps));
  if (steps.has_value() &&
      !std::all_of(steps->begin(), steps->end(), [](int64_t step) { return step == 1; })) {
    return NeedsOpset("a step other than 1", 10);
  }
  DropInput(node, kSliceSteps);
  PLAIT_RETURN_IF_ERROR(IntsInputToAttribute(node, "axes", kSliceAxes));
  PLAIT_RETURN_IF_ERROR(IntsInputToAttribute(node, "ends", kSliceEnds));
  PLAIT_RETURN_IF_ERROR(IntsInputToAttribute(node, "starts", kSliceStarts));
  MakeAxesPositive(node, "axes", node->input_types[0].rank());
  return absl::OkStatus();
}

// Without steps: a Gather of what is taken along each axis that has one, and a Slice of the other
// axes where it cuts them or there is no Gather.
absl::StatusOr<std::vector<TensorId>> ExpandSlice(const Node& node, GraphBuilder* builder) {
  PLAIT_ASSIGN_OR_RETURN(const std::vector<SliceRange> ranges, ReadSlice(*builder, node));
  const auto has_step = [](const SliceRange& range) { return range.step != 1; };
  const bool gathers = std::any_of(ranges.begin(), ranges.end(), has_step);
  const Shape shape = builder->tensor(node.inputs[0]).type.shape;
  Expansion expansion(builder);
  TensorId y = node.inputs[0];
  std::vector<int64_t> starts;
  std::vector<int64_t> ends;
  std::vector<int64_t> axes;
  for (int64_t axis = 0; axis < static_cast<int64_t>(ranges.size()); ++axis) {
    const SliceRange& range = ranges[axis];
    if (has_step(range)) {
      std::vector<int64_t> indices;
      for (int64_t i = 0; i < range.count; ++i) indices.push_back(range.start + i * range.step);
      const TensorId taken = expansion.Constant(Tensor::Int64s(indices));
      y = expansion.Add(OpKind::kGather, {y, taken}, {{"axis", axis}});
    } else if (!gathers || range.count != shape[axis]) {
      starts.push_back(range.start);
      ends.push_back(range.start + range.count);
      axes.push_back(axis);
    }
  }
  if (axes.empty()) return expansion.Outputs({y});
  const auto list = [&](absl::Span<const int64_t> values) {
    return expansion.Constant(Tensor::Int64s(values));
  };
  return expansion.Outputs(
      {expansion.Add(OpKind::kSlice, {y, list(starts), list(ends), list(axes)})});
}

}  // namespace

// y[i] = x[start + i * step] along each axis named, whole along the others. Attributes before opset
// 10, which added steps.
const OpSpec kSliceSpec = {
    .kind = OpKind::kSlice,
    .inputs = {3, 5},
    .traits = kDataMovement,
    .infer = InferSlice,
    .work = MovementWork,
    .evaluate = EvaluateSlice,
    .raise = RaiseSlice,
    .lower = LowerSlice,
    .expand = ExpandSlice,
};

}  // namespace plait
