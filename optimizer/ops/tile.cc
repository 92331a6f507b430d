#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "optimizer/ops/shared/axes.h"
#include "optimizer/ops/shared/movement.h"
#include "optimizer/ops/shared/type_set.h"

namespace plait {
namespace {

Types InferTile(const OpCall& call) {
  PLAIT_RETURN_IF_ERROR(CheckDataType(call, 0, TypeSet::kAny));
  const TensorType& from = call.input_types[0];
  PLAIT_ASSIGN_OR_RETURN(const std::vector<int64_t> repeats, ConstantInts(call, 1));
  if (repeats.size() != from.shape.size()) {
    return absl::InvalidArgumentError(absl::StrCat("needs one repeat for each of ", from.rank(),
                                                   " dimensions, has ", repeats.size()));
  }
  Shape shape;
  for (size_t axis = 0; axis < repeats.size(); ++axis) {
    if (repeats[axis] < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("repeats must not be negative, are ", repeats[axis]));
    }
    shape.push_back(SaturatingMultiply(from.shape[axis], repeats[axis]));
  }
  PLAIT_ASSIGN_OR_RETURN(TensorType type, CheckedType(from.dtype, std::move(shape)));
  return std::vector<TensorType>{std::move(type)};
}

// Each axis is read as two, the repeats with stride 0 and the input's own.
absl::Status EvaluateTile(const OpCall&, EvalInputs inputs, EvalOutputs outputs) {
  const Shape& from = inputs[0]->type.shape;
  const Shape own = RowMajorStrides(from);
  Shape shape;
  Shape strides;
  for (size_t axis = 0; axis < from.size(); ++axis) {
    const int64_t repeats = from[axis] == 0 ? 0 : outputs[0].type.shape[axis] / from[axis];
    shape.insert(shape.end(), {repeats, from[axis]});
    strides.insert(strides.end(), {0, own[axis]});
  }
  CopyStrided(*inputs[0], 0, shape, strides, &outputs[0]);
  return absl::OkStatus();
}

}  // namespace

// y = x repeated as often as the second input says, along each axis: [1,2] by 2 gives [1,2,1,2].
const OpSpec kTileSpec = {
    .kind = OpKind::kTile,
    .since_opset = 6,
    .inputs = {2, 2},
    .traits = kDataMovement,
    .infer = InferTile,
    .work = MovementWork,
    .evaluate = EvaluateTile,
};

}  // namespace plait
