#include "base/status_macros.h"
#include "optimizer/ops/shared/axes.h"
#include "optimizer/ops/shared/movement.h"
#include "optimizer/ops/shared/type_set.h"

namespace plait {
namespace {

// Output axis i is input axis perm[i]; without perm, the axes are reversed.
absl::StatusOr<std::vector<int>> Permutation(const OpCall& call) {
  const int rank = call.input_types[0].rank();
  if (!call.attributes.Has("perm")) {
    std::vector<int> reversed;
    for (int axis = rank - 1; axis >= 0; --axis) reversed.push_back(axis);
    return reversed;
  }
  const std::vector<int64_t> perm = call.attributes.Ints("perm");
  if (perm.size() != static_cast<size_t>(rank)) {
    return absl::InvalidArgumentError("perm must name every axis of the input");
  }
  return NormalizeAxes(perm, rank);
}

Types InferTranspose(const OpCall& call) {
  PLAIT_RETURN_IF_ERROR(CheckDataType(call, 0, TypeSet::kAny));
  PLAIT_ASSIGN_OR_RETURN(const std::vector<int> perm, Permutation(call));
  TensorType type{call.input_types[0].dtype, {}};
  for (int axis : perm) type.shape.push_back(call.input_types[0].shape[axis]);
  return std::vector<TensorType>{std::move(type)};
}

// The input's strides in the output's order: [2,3] has strides [3,1], its transpose reads by [1,3].
absl::Status EvaluateTranspose(const OpCall& call, EvalInputs inputs, EvalOutputs outputs) {
  PLAIT_ASSIGN_OR_RETURN(const std::vector<int> perm, Permutation(call));
  const Shape from = RowMajorStrides(inputs[0]->type.shape);
  Shape strides;
  for (int axis : perm) strides.push_back(from[axis]);
  CopyStrided(*inputs[0], 0, outputs[0].type.shape, strides, &outputs[0]);
  return absl::OkStatus();
}

}  // namespace

// y = x with its axes in another order: axis i of y is axis perm[i] of x.
const OpSpec kTransposeSpec = {
    .kind = OpKind::kTranspose,
    .traits = kDataMovement,
    .infer = InferTranspose,
    .work = MovementWork,
    .evaluate = EvaluateTranspose,
};

}  // namespace plait
