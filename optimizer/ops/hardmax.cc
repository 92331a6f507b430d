#include "base/status_macros.h"
#include "optimizer/ops/shared/axes.h"
#include "optimizer/ops/shared/broadcast.h"
#include "optimizer/ops/shared/elementwise.h"
#include "optimizer/ops/shared/softmax_axis.h"

namespace plait {
namespace {

// A NaN counts as the largest, as everywhere.
absl::Status EvaluateHardmax(const OpCall& call, EvalInputs inputs, EvalOutputs outputs) {
  auto* y = std::get_if<std::vector<double>>(&outputs[0].values);
  if (y == nullptr) return NoMeaningInField();
  const auto& x = std::get<std::vector<double>>(inputs[0]->values);
  PLAIT_ASSIGN_OR_RETURN(const int axis, AxisOfInput(call, "axis", -1));
  const TensorType& type = inputs[0]->type;
  const int64_t count = type.shape[axis];
  const int64_t step = RowMajorStrides(type.shape)[axis];
  for (int64_t row = 0; row * count < type.elements(); ++row) {
    const int64_t first = row / step * count * step + row % step;
    int64_t best = first;
    for (int64_t i = 1; i < count; ++i) {
      const int64_t at = first + i * step;
      if (x[at] > x[best] || (x[at] != x[at] && x[best] == x[best])) best = at;
    }
    (*y)[best] = 1;
  }
  return absl::OkStatus();
}

}  // namespace

// y = 1 at the first of the largest elements along the axis, 0 elsewhere. Up to opset 12 the axis
// parts the input in two, as Softmax's did.
const OpSpec kHardmaxSpec = {
    .kind = OpKind::kHardmax,
    .infer = InferSoftmax,
    .evaluate = EvaluateHardmax,
    .raise = RaiseSoftmax,
    .lower = LowerSoftmax,
    .expand = ExpandSoftmax,
};

}  // namespace plait
