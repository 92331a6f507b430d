#include "optimizer/ops/shared/arg_extreme.h"

#include <utility>

#include "optimizer/ops/shared/type_set.h"
#include "optimizer/ops/shared/versions.h"

namespace plait {

Types InferArgExtreme(const OpCall& call) {
  PLAIT_RETURN_IF_ERROR(CheckDataType(call, 0, TypeSet::kNumber));
  PLAIT_ASSIGN_OR_RETURN(const int axis, AxisOfInput(call, "axis", 0));
  Shape shape = call.input_types[0].shape;
  if (shape[axis] == 0) return absl::InvalidArgumentError("the axis has no elements");
  if (call.attributes.Int("keepdims", 1) != 0) {
    shape[axis] = 1;
  } else {
    shape.erase(shape.begin() + axis);
  }
  PLAIT_ASSIGN_OR_RETURN(TensorType type, CheckedType(DataType::kInt64, std::move(shape)));
  return std::vector<TensorType>{std::move(type)};
}

absl::Status LowerArgExtreme(VersionedNode* node) {
  if (node->opset >= 12) return absl::OkStatus();
  if (node->attributes.Int("select_last_index", 0) != 0) return NeedsOpset("select_last_index", 12);
  node->attributes.Erase("select_last_index");
  if (node->opset < 11) MakeAxisPositive(node, "axis", node->input_types[0].rank());
  return absl::OkStatus();
}

}  // namespace plait
