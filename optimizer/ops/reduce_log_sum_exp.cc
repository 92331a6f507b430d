#include <cmath>

#include "base/status_macros.h"
#include "optimizer/ops/shared/extremes.h"
#include "optimizer/ops/shared/reduction.h"

namespace plait {
namespace {

// The largest element is subtracted first, so that no exponential overflows. An infinite one is
// not: its difference to itself would be NaN.
absl::Status EvaluateReduceLogSumExp(const OpCall& call, EvalInputs inputs, EvalOutputs outputs) {
  auto* y = std::get_if<std::vector<double>>(&outputs[0].values);
  if (y == nullptr) return NoMeaningInField();
  PLAIT_ASSIGN_OR_RETURN(const Reduction reduction, ReductionOf(call));
  PLAIT_RETURN_IF_ERROR(EvaluateReduceExtreme<std::greater<>>(call, inputs, outputs));
  std::vector<double> largest = *y;
  for (double& value : largest) value = std::isinf(value) ? 0 : value;
  std::vector<double> sums(y->size(), 0.0);
  const auto& x = std::get<std::vector<double>>(inputs[0]->values);
  const Shape& shape = inputs[0]->type.shape;
  ForEachIndex<1>(shape, {BroadcastStrides(reduction.kept, shape)},
                  [&](int64_t index, const std::array<int64_t, 1>& offsets) {
                    sums[offsets[0]] += std::exp(x[index] - largest[offsets[0]]);
                  });
  for (size_t i = 0; i < sums.size(); ++i) (*y)[i] = std::log(sums[i]) + largest[i];
  return absl::OkStatus();
}

}  // namespace

// y = the logarithm of the sum of exp(x) over the axes, which are an input since opset 18; minus
// infinity over no element.
const OpSpec kReduceLogSumExpSpec = {
    .kind = OpKind::kReduceLogSumExp,
    .inputs = {1, 2},
    .infer = InferFloatReduce,
    .work = WorkOfReduce,
    .evaluate = EvaluateReduceLogSumExp,
    .raise = RaiseReduceOf<18>,
    .lower = LowerReduceOf<18>,
    .expand = ExpandElementsBy<OpKind::kIdentity>,
    .expands_at_import = ReducesNothing,
};

}  // namespace plait
