#include <cmath>

#include "base/status_macros.h"
#include "optimizer/ops/shared/elementwise.h"
#include "optimizer/ops/shared/reduction.h"

namespace plait {
namespace {

absl::Status EvaluateReduceL1(const OpCall& call, EvalInputs inputs, EvalOutputs outputs) {
  PLAIT_ASSIGN_OR_RETURN(const Reduction reduction, ReductionOf(call));
  if (auto* floats = std::get_if<std::vector<double>>(&outputs[0].values)) {
    const auto combine = [](double sum, double x) { return sum + std::abs(x); };
    Reduce(reduction, *inputs[0], 0.0, combine, floats);
    return absl::OkStatus();
  }
  auto* integers = std::get_if<std::vector<int64_t>>(&outputs[0].values);
  if (integers == nullptr) return NoMeaningInField();
  // Unsigned, because sums and the magnitude of the smallest number wrap.
  const bool has_sign = inputs[0]->type.dtype != DataType::kUint64;
  const auto combine = [has_sign](int64_t sum, int64_t x) {
    const auto bits = static_cast<uint64_t>(x);
    const uint64_t magnitude = has_sign && x < 0 ? 0 - bits : bits;
    return static_cast<int64_t>(static_cast<uint64_t>(sum) + magnitude);
  };
  Reduce(reduction, *inputs[0], int64_t{0}, combine, integers);
  return absl::OkStatus();
}

}  // namespace

// y = the sum of |x| over the axes, which are an input since opset 18.
const OpSpec kReduceL1Spec = {
    .kind = OpKind::kReduceL1,
    .inputs = {1, 2},
    .infer = InferReduceOf<TypeSet::kNumber>,
    .work = WorkOfReduce,
    .evaluate = EvaluateReduceL1,
    .raise = RaiseReduceOf<18>,
    .lower = LowerReduceOf<18>,
    .expand = ExpandElementsBy<OpKind::kAbs>,
    .expands_at_import = ReducesNothing,
};

}  // namespace plait
