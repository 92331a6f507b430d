#include "base/status_macros.h"
#include "optimizer/ops/shared/axes.h"
#include "optimizer/ops/shared/movement.h"
#include "optimizer/ops/shared/type_set.h"

namespace plait {
namespace {

Types InferWhere(const OpCall& call) {
  PLAIT_RETURN_IF_ERROR(CheckDataType(call, 0, TypeSet::kBool));
  PLAIT_RETURN_IF_ERROR(CheckDataType(call, 1, TypeSet::kAny));
  PLAIT_RETURN_IF_ERROR(CheckDataType(call, 2, TypeSet::kAny));
  PLAIT_RETURN_IF_ERROR(CheckSameDataType(call, 1, 2));
  Shape shape = call.input_types[0].shape;
  for (size_t i = 1; i < 3; ++i) {
    PLAIT_ASSIGN_OR_RETURN(shape, BroadcastShapes(shape, call.input_types[i].shape));
  }
  PLAIT_ASSIGN_OR_RETURN(TensorType type, CheckedType(call.input_types[1].dtype, std::move(shape)));
  return std::vector<TensorType>{std::move(type)};
}

absl::Status EvaluateWhere(const OpCall&, EvalInputs inputs, EvalOutputs outputs) {
  const Shape& shape = outputs[0].type.shape;
  const auto& condition = std::get<std::vector<int64_t>>(inputs[0]->values);
  const std::array<Shape, 3> strides = {BroadcastStrides(inputs[0]->type.shape, shape),
                                        BroadcastStrides(inputs[1]->type.shape, shape),
                                        BroadcastStrides(inputs[2]->type.shape, shape)};
  MoveElements(*inputs[1], &outputs[0], [&](const auto& when_true, auto& to) {
    const auto& when_false = std::get<std::decay_t<decltype(when_true)>>(inputs[2]->values);
    ForEachIndex(shape, strides, [&](int64_t index, const std::array<int64_t, 3>& at) {
      to[index] = condition[at[0]] != 0 ? when_true[at[1]] : when_false[at[2]];
    });
  });
  return absl::OkStatus();
}

}  // namespace

// y = a where the condition holds, else b; all three broadcast. It moves elements, so that it is
// exact in GF(p).
const OpSpec kWhereSpec = {
    .kind = OpKind::kWhere,
    .since_opset = 9,
    .inputs = {3, 3},
    .infer = InferWhere,
    .work = DefaultWork,
    .evaluate = EvaluateWhere,
};

}  // namespace plait
