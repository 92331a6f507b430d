#include "base/status_macros.h"
#include "optimizer/ops/shared/axes.h"
#include "optimizer/ops/shared/movement.h"
#include "optimizer/ops/shared/type_set.h"

namespace plait {
namespace {

// Broadcasting goes both ways: the output may be larger than the given shape.
Types InferExpand(const OpCall& call) {
  PLAIT_RETURN_IF_ERROR(CheckDataType(call, 0, TypeSet::kAny));
  PLAIT_ASSIGN_OR_RETURN(const std::vector<int64_t> given, ConstantInts(call, 1));
  PLAIT_ASSIGN_OR_RETURN(
      Shape shape, BroadcastShapes(call.input_types[0].shape, Shape(given.begin(), given.end())));
  PLAIT_ASSIGN_OR_RETURN(TensorType type, CheckedType(call.input_types[0].dtype, std::move(shape)));
  return std::vector<TensorType>{std::move(type)};
}

absl::Status EvaluateExpand(const OpCall&, EvalInputs inputs, EvalOutputs outputs) {
  const Shape& shape = outputs[0].type.shape;
  CopyStrided(*inputs[0], 0, shape, BroadcastStrides(inputs[0]->type.shape, shape), &outputs[0]);
  return absl::OkStatus();
}

}  // namespace

// y = x repeated to the common shape of x and the shape given: [3,1] and [2,1,4] give [2,3,4].
const OpSpec kExpandSpec = {
    .kind = OpKind::kExpand,
    .since_opset = 8,
    .inputs = {2, 2},
    .traits = kDataMovement,
    .infer = InferExpand,
    .work = MovementWork,
    .evaluate = EvaluateExpand,
};

}  // namespace plait
