#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "optimizer/ops/shared/axes.h"
#include "optimizer/ops/shared/movement.h"
#include "optimizer/ops/shared/type_set.h"
#include "optimizer/ops/shared/versions.h"

namespace plait {
namespace {

// [2,3] and [2,5] along axis 1 give [2,8].
Types InferConcat(const OpCall& call) {
  PLAIT_RETURN_IF_ERROR(CheckDataType(call, 0, TypeSet::kAny));
  if (!call.attributes.Has("axis")) return absl::InvalidArgumentError("needs an axis");
  PLAIT_ASSIGN_OR_RETURN(const int axis, AxisOfInput(call, "axis", 0));
  TensorType type = call.input_types[0];
  for (size_t i = 1; i < call.input_types.size(); ++i) {
    PLAIT_RETURN_IF_ERROR(CheckDataType(call, i, TypeSet::kAny));
    PLAIT_RETURN_IF_ERROR(CheckSameDataType(call, 0, i));
    Shape shape = call.input_types[i].shape;
    const int64_t sum =
        shape.size() == type.shape.size() ? SaturatingAdd(type.shape[axis], shape[axis]) : 0;
    if (shape.size() == type.shape.size()) shape[axis] = type.shape[axis];
    if (shape != type.shape) {
      return absl::InvalidArgumentError(
          absl::StrCat("inputs 0 and ", i, " must have equal shapes but for axis ", axis, ", have ",
                       ShapeToString(call.input_types[0].shape), " and ",
                       ShapeToString(call.input_types[i].shape)));
    }
    type.shape[axis] = sum;
  }
  PLAIT_ASSIGN_OR_RETURN(type, CheckedType(type.dtype, type.shape));
  return std::vector<TensorType>{std::move(type)};
}

// Elements of one input that stand together in the output.
int64_t BlockOf(const Shape& shape, int axis) {
  return ElementsOf(Shape(shape.begin() + axis, shape.end()));
}

absl::Status EvaluateConcat(const OpCall& call, EvalInputs inputs, EvalOutputs outputs) {
  PLAIT_ASSIGN_OR_RETURN(const int axis, AxisOfInput(call, "axis", 0));
  const int64_t stride = BlockOf(outputs[0].type.shape, axis);
  MoveElements(*inputs[0], &outputs[0], [&](const auto& first, auto& to) {
    int64_t start = 0;
    for (const EvalTensor* input : inputs) {
      const auto& from = std::get<std::decay_t<decltype(first)>>(input->values);
      const int64_t block = BlockOf(input->type.shape, axis);
      const int64_t blocks = block == 0 ? 0 : static_cast<int64_t>(from.size()) / block;
      for (int64_t i = 0; i < blocks; ++i) {
        std::copy_n(from.begin() + i * block, block, to.begin() + i * stride + start);
      }
      start += block;
    }
  });
  return absl::OkStatus();
}

absl::Status LowerConcat(VersionedNode* node) {
  if (node->opset < 11) MakeAxisPositive(node, "axis", node->input_types[0].rank());
  return absl::OkStatus();
}

}  // namespace

// y = the inputs one behind the other along the axis. Negative axes came with opset 11.
const OpSpec kConcatSpec = {
    .kind = OpKind::kConcat,
    .inputs = {1, kVariadic},
    .traits = kDataMovement,
    .infer = InferConcat,
    .work = MovementWork,
    .evaluate = EvaluateConcat,
    .lower = LowerConcat,
};

}  // namespace plait
