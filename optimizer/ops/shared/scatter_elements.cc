#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "optimizer/ops/shared/axes.h"
#include "optimizer/ops/shared/broadcast.h"
#include "optimizer/ops/shared/indices.h"
#include "optimizer/ops/shared/scattering.h"

namespace plait {

// Indices and updates have one shape, which lies inside the data's along every other axis.
Types InferScatterElements(const OpCall& call) {
  PLAIT_RETURN_IF_ERROR(CheckScatter(call));
  PLAIT_ASSIGN_OR_RETURN(const int axis, AxisOfInput(call, "axis", 0));
  const Shape& data = call.input_types[0].shape;
  const Shape& shape = call.input_types[kScatterIndices].shape;
  if (shape != call.input_types[kScatterUpdates].shape || shape.size() != data.size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "indices and updates must have one shape of rank ", data.size(), ", have ",
        ShapeToString(shape), " and ", ShapeToString(call.input_types[kScatterUpdates].shape)));
  }
  for (int i = 0; i < static_cast<int>(shape.size()); ++i) {
    if (i == axis || shape[i] <= data[i]) continue;
    return absl::InvalidArgumentError(absl::StrCat("indices of shape ", ShapeToString(shape),
                                                   " reach beyond data of shape ",
                                                   ShapeToString(data), " along axis ", i));
  }
  if (const Tensor* indices = call.constant(kScatterIndices); indices != nullptr) {
    PLAIT_RETURN_IF_ERROR(CheckIndices(indices->AsInt64s(), data[axis]));
  }
  return std::vector<TensorType>{call.input_types[0]};
}

// The place of an update is its own coordinates' but along the axis.
absl::Status EvaluateScatterElements(const OpCall& call, EvalInputs inputs, EvalOutputs outputs) {
  PLAIT_ASSIGN_OR_RETURN(const int axis, AxisOfInput(call, "axis", 0));
  const Shape& data = inputs[0]->type.shape;
  const auto& indices = std::get<std::vector<int64_t>>(inputs[kScatterIndices]->values);
  PLAIT_RETURN_IF_ERROR(CheckIndices(indices, data[axis]));
  Shape strides = RowMajorStrides(data);
  const int64_t axis_stride = std::exchange(strides[axis], 0);
  std::vector<int64_t> places(indices.size());
  ForEachIndex<1>(inputs[kScatterIndices]->type.shape, {strides},
                  [&](int64_t index, const std::array<int64_t, 1>& offsets) {
                    const int64_t at = indices[index];
                    places[index] = offsets[0] + (at < 0 ? at + data[axis] : at) * axis_stride;
                  });
  return EvaluateScatter(call, inputs, places, outputs);
}

}  // namespace plait
