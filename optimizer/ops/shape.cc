#include <algorithm>

#include "base/status_macros.h"
#include "optimizer/ops/shared/axes.h"
#include "optimizer/ops/shared/movement.h"
#include "optimizer/ops/shared/type_set.h"
#include "optimizer/ops/shared/versions.h"

namespace plait {
namespace {

// The dimensions from start to end, which count from the back when negative and are clamped.
std::vector<int64_t> Dimensions(const OpCall& call) {
  const Shape& shape = call.input_types[0].shape;
  const int64_t rank = static_cast<int64_t>(shape.size());
  const auto clamp = [&](int64_t axis) {
    return std::clamp<int64_t>(NormalAxis(axis, rank), 0, rank);
  };
  const int64_t start = clamp(call.attributes.Int("start", 0));
  const int64_t end = clamp(call.attributes.Int("end", rank));
  if (start >= end) return {};
  return std::vector<int64_t>(shape.begin() + start, shape.begin() + end);
}

Types InferShape(const OpCall& call) {
  PLAIT_RETURN_IF_ERROR(CheckDataType(call, 0, TypeSet::kAny));
  const int64_t count = static_cast<int64_t>(Dimensions(call).size());
  return std::vector<TensorType>{{DataType::kInt64, {count}}};
}

absl::Status EvaluateShape(const OpCall& call, EvalInputs, EvalOutputs outputs) {
  outputs[0].values = Dimensions(call);
  return absl::OkStatus();
}

// Opset 15 added start and end.
absl::Status LowerShape(VersionedNode* node) {
  if (node->opset >= 15) return absl::OkStatus();
  if (node->attributes.Int("start", 0) != 0 || node->attributes.Has("end")) {
    return NeedsOpset("a part of a shape", 15);
  }
  node->attributes.Erase("start");
  return absl::OkStatus();
}

}  // namespace

// y = the dimensions of x from start to end, as int64. Types are static, so that it depends on
// nothing that is computed. start and end came with opset 15.
const OpSpec kShapeSpec = {
    .kind = OpKind::kShape,
    .infer = InferShape,
    .work = NoWork,
    .evaluate = EvaluateShape,
    .lower = LowerShape,
};

}  // namespace plait
