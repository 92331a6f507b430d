#include <algorithm>

#include "base/status_macros.h"
#include "optimizer/ops/shared/axes.h"
#include "optimizer/ops/shared/indices.h"
#include "optimizer/ops/shared/movement.h"
#include "optimizer/ops/shared/type_set.h"
#include "optimizer/ops/shared/versions.h"

namespace plait {
namespace {

constexpr size_t kGatherIndices = 1;

// The indices' shape stands in the place of the axis.
Types InferGather(const OpCall& call) {
  PLAIT_RETURN_IF_ERROR(CheckDataType(call, 0, TypeSet::kAny));
  PLAIT_RETURN_IF_ERROR(CheckDataType(call, kGatherIndices, TypeSet::kInteger));
  PLAIT_ASSIGN_OR_RETURN(const int axis, AxisOfInput(call, "axis", 0));
  const Shape& from = call.input_types[0].shape;
  if (const Tensor* indices = call.constant(kGatherIndices); indices != nullptr) {
    PLAIT_RETURN_IF_ERROR(CheckIndices(indices->AsInt64s(), from[axis]));
  }
  const Shape& inserted = call.input_types[kGatherIndices].shape;
  Shape shape(from.begin(), from.begin() + axis);
  shape.insert(shape.end(), inserted.begin(), inserted.end());
  shape.insert(shape.end(), from.begin() + axis + 1, from.end());
  PLAIT_ASSIGN_OR_RETURN(TensorType type, CheckedType(call.input_types[0].dtype, std::move(shape)));
  return std::vector<TensorType>{std::move(type)};
}

absl::Status EvaluateGather(const OpCall& call, EvalInputs inputs, EvalOutputs outputs) {
  PLAIT_ASSIGN_OR_RETURN(const int axis, AxisOfInput(call, "axis", 0));
  const Shape& shape = inputs[0]->type.shape;
  const int64_t dim = shape[axis];
  const auto& indices = std::get<std::vector<int64_t>>(inputs[kGatherIndices]->values);
  PLAIT_RETURN_IF_ERROR(CheckIndices(indices, dim));
  const int64_t inner = ElementsOf(Shape(shape.begin() + axis + 1, shape.end()));
  const int64_t outer = ElementsOf(Shape(shape.begin(), shape.begin() + axis));
  MoveElements(*inputs[0], &outputs[0], [&](const auto& from, auto& to) {
    auto next = to.begin();
    for (int64_t i = 0; i < outer; ++i) {
      for (int64_t index : indices) {
        const int64_t row = i * dim + (index < 0 ? index + dim : index);
        next = std::copy_n(from.begin() + row * inner, inner, next);
      }
    }
  });
  return absl::OkStatus();
}

// The table is read only where an index points.
Work WorkOfGather(const OpCall& call, absl::Span<const TensorType> output_types) {
  Work work = MovementWork(call, output_types);
  work.bytes += call.input_types[kGatherIndices].bytes();
  return work;
}

// Opset 11 allowed negative axes and indices.
absl::Status LowerGather(VersionedNode* node) {
  if (node->opset >= 11) return absl::OkStatus();
  MakeAxisPositive(node, "axis", node->input_types[0].rank());
  const std::optional<Tensor>& indices = node->constants[kGatherIndices];
  if (!indices.has_value()) return absl::OkStatus();
  for (int64_t index : indices->AsInt64s()) {
    if (index < 0) return NeedsOpset("a negative index", 11);
  }
  return absl::OkStatus();
}

}  // namespace

// y[a.., i.., b..] = x[a.., indices[i..], b..]: whole slices along one axis, as an embedding takes
// rows of a table. Negative indices came with opset 11.
const OpSpec kGatherSpec = {
    .kind = OpKind::kGather,
    .inputs = {2, 2},
    .traits = kDataMovement,
    .infer = InferGather,
    .work = WorkOfGather,
    .evaluate = EvaluateGather,
    .lower = LowerGather,
};

}  // namespace plait
