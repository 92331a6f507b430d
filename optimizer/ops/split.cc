#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/limits.h"
#include "base/status_macros.h"
#include "optimizer/ops/shared/axes.h"
#include "optimizer/ops/shared/movement.h"
#include "optimizer/ops/shared/type_set.h"
#include "optimizer/ops/shared/versions.h"

namespace plait {
namespace {

constexpr size_t kSizes = 1;

// `count` parts of equal size, the last one smaller when `dim` is not a multiple.
std::vector<int64_t> EqualParts(int64_t dim, int64_t count) {
  const int64_t size = dim / count + (dim % count == 0 ? 0 : 1);
  std::vector<int64_t> parts(static_cast<size_t>(count), size);
  parts.back() = dim - size * (count - 1);
  return parts;
}

// Sizes where they are given, else num_outputs equal parts: 7 by 3 gives 3, 3, 1.
absl::StatusOr<std::vector<int64_t>> PartSizes(const OpCall& call, int64_t dim) {
  std::vector<int64_t> parts;
  const int64_t outputs = call.output_count;
  if (call.has_input(kSizes)) {
    PLAIT_ASSIGN_OR_RETURN(parts, ConstantInts(call, kSizes));
  } else {
    const int64_t count = call.attributes.Int("num_outputs", 0);
    const int64_t count_max = std::min(std::max(dim, outputs), kModelNodesMax);
    if (count < 1 || count > count_max) {
      return absl::InvalidArgumentError(
          absl::StrCat("needs sizes or num_outputs from 1 to ", count_max, ", has ", count));
    }
    parts = EqualParts(dim, count);
  }
  // Trailing outputs may be left out where nothing reads them.
  if (static_cast<int64_t>(parts.size()) < outputs) {
    return absl::InvalidArgumentError(
        absl::StrCat("has ", outputs, " outputs for ", parts.size(), " parts"));
  }
  return parts;
}

Types InferSplit(const OpCall& call) {
  PLAIT_RETURN_IF_ERROR(CheckDataType(call, 0, TypeSet::kAny));
  const TensorType& from = call.input_types[0];
  PLAIT_ASSIGN_OR_RETURN(const int axis, AxisOfInput(call, "axis", 0));
  PLAIT_ASSIGN_OR_RETURN(const std::vector<int64_t> parts, PartSizes(call, from.shape[axis]));
  int64_t total = 0;
  for (int64_t part : parts) {
    if (part < 0) {
      return absl::InvalidArgumentError(absl::StrCat("a part must not be negative, is ", part));
    }
    total = SaturatingAdd(total, part);
  }
  if (total != from.shape[axis]) {
    return absl::InvalidArgumentError(absl::StrCat("the parts of dimension ", axis, " must add to ",
                                                   from.shape[axis], ", add to ", total));
  }
  std::vector<TensorType> types(static_cast<size_t>(call.output_count), from);
  for (size_t i = 0; i < types.size(); ++i) types[i].shape[axis] = parts[i];
  return types;
}

absl::Status EvaluateSplit(const OpCall& call, EvalInputs inputs, EvalOutputs outputs) {
  PLAIT_ASSIGN_OR_RETURN(const int axis, AxisOfInput(call, "axis", 0));
  const Shape strides = RowMajorStrides(inputs[0]->type.shape);
  int64_t start = 0;
  for (EvalTensor& output : outputs) {
    CopyStrided(*inputs[0], start * strides[axis], output.type.shape, strides, &output);
    start += output.type.shape[axis];
  }
  return absl::OkStatus();
}

// Opset 13 made the sizes an input; opset 18 asks for num_outputs where they are missing.
absl::Status RaiseSplit(VersionedNode* node) {
  if (node->opset < 13) IntsAttributeToInput(node, "split", kSizes);
  if (node->opset < 18 && !HasInput(*node, kSizes)) {
    node->attributes.Set("num_outputs", int64_t{node->output_count});
  }
  return absl::OkStatus();
}

// Older opsets cut evenly without sizes; what num_outputs cuts unevenly needs them written out.
absl::Status LowerSplit(VersionedNode* node) {
  if (node->opset >= 18) return absl::OkStatus();
  const Shape& shape = node->input_types[0].shape;
  const int rank = static_cast<int>(shape.size());
  PLAIT_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(node->attributes.Int("axis", 0), rank));
  const int64_t count = node->attributes.Int("num_outputs", 0);
  if (count > 0 && (shape[axis] % count != 0 || count != node->output_count)) {
    SetConstantInput(node, kSizes, Tensor::Int64s(EqualParts(shape[axis], count)));
  }
  node->attributes.Erase("num_outputs");
  if (node->opset < 13) PLAIT_RETURN_IF_ERROR(IntsInputToAttribute(node, "split", kSizes));
  if (node->opset < 11) MakeAxisPositive(node, "axis", rank);
  return absl::OkStatus();
}

}  // namespace

// y0, y1, ... = x cut along one axis: the inverse of Concat. Opset 13 made the sizes an input, 18
// asks for num_outputs where they are missing.
const OpSpec kSplitSpec = {
    .kind = OpKind::kSplit,
    .inputs = {1, 2},
    .outputs = {1, kVariadic},
    .traits = kDataMovement,
    .infer = InferSplit,
    .work = MovementWork,
    .evaluate = EvaluateSplit,
    .raise = RaiseSplit,
    .lower = LowerSplit,
};

}  // namespace plait
