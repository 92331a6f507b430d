#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "optimizer/ops/shared/axes.h"
#include "optimizer/ops/shared/movement.h"
#include "optimizer/ops/shared/type_set.h"
#include "optimizer/ops/shared/versions.h"

namespace plait {
namespace {

constexpr size_t kSqueezeAxes = 1;

// Without axes, every dimension of 1 goes.
Types InferSqueeze(const OpCall& call) {
  PLAIT_RETURN_IF_ERROR(CheckDataType(call, 0, TypeSet::kAny));
  const TensorType& from = call.input_types[0];
  std::vector<int> axes;
  if (call.has_input(kSqueezeAxes)) {
    PLAIT_ASSIGN_OR_RETURN(const std::vector<int64_t> given, ConstantInts(call, kSqueezeAxes));
    PLAIT_ASSIGN_OR_RETURN(axes, NormalizeAxes(given, from.rank()));
  } else {
    for (int axis = 0; axis < from.rank(); ++axis) {
      if (from.shape[axis] == 1) axes.push_back(axis);
    }
  }
  TensorType type{from.dtype, {}};
  for (int axis = 0; axis < from.rank(); ++axis) {
    const int64_t dim = from.shape[axis];
    if (std::find(axes.begin(), axes.end(), axis) == axes.end()) {
      type.shape.push_back(dim);
    } else if (dim != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("dimension ", axis, " must be 1 to be removed, is ", dim));
    }
  }
  return std::vector<TensorType>{std::move(type)};
}

absl::Status RaiseSqueeze(VersionedNode* node) {
  if (node->opset < 13) IntsAttributeToInput(node, "axes", kSqueezeAxes);
  return absl::OkStatus();
}

absl::Status LowerSqueeze(VersionedNode* node) {
  if (node->opset >= 13) return absl::OkStatus();
  PLAIT_RETURN_IF_ERROR(IntsInputToAttribute(node, "axes", kSqueezeAxes));
  if (node->opset < 11) MakeAxesPositive(node, "axes", node->input_types[0].rank());
  return absl::OkStatus();
}

}  // namespace

// y = x without axes of 1. Opset 13 made the axes an input, 11 allowed negative ones.
const OpSpec kSqueezeSpec = {
    .kind = OpKind::kSqueeze,
    .inputs = {1, 2},
    .traits = kView,
    .infer = InferSqueeze,
    .work = NoWork,
    .evaluate = EvaluateView,
    .raise = RaiseSqueeze,
    .lower = LowerSqueeze,
};

}  // namespace plait
