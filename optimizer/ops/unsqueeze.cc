#include <algorithm>

#include "base/limits.h"
#include "base/status_macros.h"
#include "optimizer/ops/shared/axes.h"
#include "optimizer/ops/shared/movement.h"
#include "optimizer/ops/shared/type_set.h"
#include "optimizer/ops/shared/versions.h"

namespace plait {
namespace {

constexpr size_t kUnsqueezeAxes = 1;

// The axes are those of the output.
Types InferUnsqueeze(const OpCall& call) {
  PLAIT_RETURN_IF_ERROR(CheckDataType(call, 0, TypeSet::kAny));
  const TensorType& from = call.input_types[0];
  PLAIT_ASSIGN_OR_RETURN(const std::vector<int64_t> given, ConstantInts(call, kUnsqueezeAxes));
  // More axes than this make a rank that CheckedType refuses; the list is not read further.
  const size_t count = std::min(given.size(), static_cast<size_t>(kTensorRankMax) + 1);
  const int rank = from.rank() + static_cast<int>(count);
  PLAIT_ASSIGN_OR_RETURN(const std::vector<int> axes, NormalizeAxes(given, rank));
  Shape shape;
  auto next = from.shape.begin();
  for (int axis = 0; axis < rank; ++axis) {
    const bool is_new = std::find(axes.begin(), axes.end(), axis) != axes.end();
    shape.push_back(is_new ? 1 : *next++);
  }
  PLAIT_ASSIGN_OR_RETURN(TensorType type, CheckedType(from.dtype, std::move(shape)));
  return std::vector<TensorType>{std::move(type)};
}

absl::Status RaiseUnsqueeze(VersionedNode* node) {
  if (node->opset < 13) IntsAttributeToInput(node, "axes", kUnsqueezeAxes);
  return absl::OkStatus();
}

absl::Status LowerUnsqueeze(VersionedNode* node) {
  if (node->opset >= 13) return absl::OkStatus();
  PLAIT_RETURN_IF_ERROR(IntsInputToAttribute(node, "axes", kUnsqueezeAxes));
  if (node->opset < 11) {
    const int added = static_cast<int>(node->attributes.Ints("axes").size());
    MakeAxesPositive(node, "axes", node->input_types[0].rank() + added);
  }
  return absl::OkStatus();
}

}  // namespace

// y = x with axes of 1 where the list says, counted in y. Opset 13 made the list an input.
const OpSpec kUnsqueezeSpec = {
    .kind = OpKind::kUnsqueeze,
    .inputs = {2, 2},
    .traits = kView,
    .infer = InferUnsqueeze,
    .work = NoWork,
    .evaluate = EvaluateView,
    .raise = RaiseUnsqueeze,
    .lower = LowerUnsqueeze,
};

}  // namespace plait
