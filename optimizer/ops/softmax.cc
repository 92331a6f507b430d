#include <algorithm>
#include <cmath>
#include <limits>

#include "base/status_macros.h"
#include "optimizer/ops/shared/axes.h"
#include "optimizer/ops/shared/softmax_axis.h"

namespace plait {
namespace {

absl::Status EvaluateSoftmax(const OpCall& call, absl::Span<const EvalTensor* const> inputs,
                             absl::Span<EvalTensor> outputs) {
  auto* y = std::get_if<std::vector<double>>(&outputs[0].values);
  if (y == nullptr) return absl::UnimplementedError("a field has no exponential");
  const auto& x = std::get<std::vector<double>>(inputs[0]->values);
  PLAIT_ASSIGN_OR_RETURN(const int axis, AxisOfInput(call, "axis", -1));
  ForEachRow(inputs[0]->type, axis, [&](int64_t first, int64_t step, int64_t count) {
    double largest = -std::numeric_limits<double>::infinity();
    for (int64_t i = 0; i < count; ++i) largest = std::max(largest, x[first + i * step]);
    double sum = 0;
    for (int64_t i = 0; i < count; ++i) {
      sum += (*y)[first + i * step] = std::exp(x[first + i * step] - largest);
    }
    for (int64_t i = 0; i < count; ++i) (*y)[first + i * step] /= sum;
  });
  return absl::OkStatus();
}

}  // namespace

// y[i] = exp(x[i]) / sum over j of exp(x[j]), shifted by the maximum so that nothing overflows.
const OpSpec kSoftmaxSpec = {
    .kind = OpKind::kSoftmax,
    .since_opset = 1,
    .inputs_min = 1,
    .inputs_max = 1,
    .outputs_min = 1,
    .outputs_max = 1,
    .infer = InferSoftmax,
    .work = WorkOfSoftmax,
    .evaluate = EvaluateSoftmax,
    .raise = RaiseSoftmax,
    .lower = LowerSoftmax,
    .expand = ExpandSoftmax,
};

}  // namespace plait
