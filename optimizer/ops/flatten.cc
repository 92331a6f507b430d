#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "optimizer/ops/shared/axes.h"
#include "optimizer/ops/shared/movement.h"
#include "optimizer/ops/shared/type_set.h"
#include "optimizer/ops/shared/versions.h"

namespace plait {
namespace {

// [d0, ..., dn] becomes [d0 ... d(axis-1), d(axis) ... dn]; axis may be the rank itself.
Types InferFlatten(const OpCall& call) {
  PLAIT_RETURN_IF_ERROR(CheckDataType(call, 0, TypeSet::kAny));
  const TensorType& type = call.input_types[0];
  const int64_t axis = call.attributes.Int("axis", 1);
  if (axis < -type.rank() || axis > type.rank()) {
    return absl::InvalidArgumentError(
        absl::StrCat("axis must be in [", -type.rank(), ", ", type.rank(), "], is ", axis));
  }
  const auto middle = type.shape.begin() + NormalAxis(axis, type.rank());
  const int64_t rows = ElementsOf(Shape(type.shape.begin(), middle));
  const int64_t columns = ElementsOf(Shape(middle, type.shape.end()));
  return std::vector<TensorType>{{type.dtype, {rows, columns}}};
}

absl::Status LowerFlatten(VersionedNode* node) {
  if (node->opset < 11) MakeAxisPositive(node, "axis", node->input_types[0].rank());
  return absl::OkStatus();
}

}  // namespace

// y = x as a matrix: the axes before `axis` make its rows, the others its columns.
const OpSpec kFlattenSpec = {
    .kind = OpKind::kFlatten,
    .traits = kView,
    .infer = InferFlatten,
    .work = NoWork,
    .evaluate = EvaluateView,
    .lower = LowerFlatten,
};

}  // namespace plait
