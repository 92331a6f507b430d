#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "optimizer/ops/shared/axes.h"
#include "optimizer/ops/shared/indices.h"
#include "optimizer/ops/shared/movement.h"
#include "optimizer/ops/shared/type_set.h"

namespace plait {
namespace {

constexpr size_t kElementIndices = 1;

// The output has the indices' shape, which lies inside the data's along every other axis.
Types InferGatherElements(const OpCall& call) {
  PLAIT_RETURN_IF_ERROR(CheckDataType(call, 0, TypeSet::kAny));
  PLAIT_RETURN_IF_ERROR(CheckDataType(call, kElementIndices, TypeSet::kInteger));
  PLAIT_ASSIGN_OR_RETURN(const int axis, AxisOfInput(call, "axis", 0));
  const Shape& from = call.input_types[0].shape;
  const Shape& shape = call.input_types[kElementIndices].shape;
  if (shape.size() != from.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("indices have rank ", shape.size(), ", the data has rank ", from.size()));
  }
  for (int i = 0; i < static_cast<int>(shape.size()); ++i) {
    if (i == axis || shape[i] <= from[i]) continue;
    return absl::InvalidArgumentError(absl::StrCat("indices of shape ", ShapeToString(shape),
                                                   " reach beyond data of shape ",
                                                   ShapeToString(from), " along axis ", i));
  }
  if (const Tensor* indices = call.constant(kElementIndices); indices != nullptr) {
    PLAIT_RETURN_IF_ERROR(CheckIndices(indices->AsInt64s(), from[axis]));
  }
  return std::vector<TensorType>{{call.input_types[0].dtype, shape}};
}

// output[c] = data[c with indices[c] in the place of c's coordinate along the axis]
absl::Status EvaluateGatherElements(const OpCall& call, EvalInputs inputs, EvalOutputs outputs) {
  PLAIT_ASSIGN_OR_RETURN(const int axis, AxisOfInput(call, "axis", 0));
  const Shape& from_shape = inputs[0]->type.shape;
  const Shape& shape = inputs[kElementIndices]->type.shape;
  const auto& indices = std::get<std::vector<int64_t>>(inputs[kElementIndices]->values);
  PLAIT_RETURN_IF_ERROR(CheckIndices(indices, from_shape[axis]));
  MoveElements(*inputs[0], &outputs[0], [&](const auto& from, auto& to) {
    for (size_t at = 0; at < indices.size(); ++at) {
      int64_t rest = static_cast<int64_t>(at);
      int64_t source = 0;
      int64_t stride = 1;
      for (int i = static_cast<int>(shape.size()) - 1; i >= 0; --i) {
        const int64_t index = i == axis ? indices[at] : rest % shape[i];
        source += stride * (index < 0 ? index + from_shape[i] : index);
        stride *= from_shape[i];
        rest /= shape[i];
      }
      to[at] = from[static_cast<size_t>(source)];
    }
  });
  return absl::OkStatus();
}

}  // namespace

// y[c] = x[c with indices[c] in the place of the axis' coordinate]: one element at a time.
const OpSpec kGatherElementsSpec = {
    .kind = OpKind::kGatherElements,
    .since_opset = 11,
    .inputs = {2, 2},
    .traits = kDataMovement,
    .infer = InferGatherElements,
    .work = MovementWork,
    .evaluate = EvaluateGatherElements,
};

}  // namespace plait
