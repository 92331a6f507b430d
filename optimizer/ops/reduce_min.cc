#include <algorithm>
#include <cmath>
#include <limits>

#include "base/status_macros.h"
#include "optimizer/ops/shared/reduction.h"

namespace plait {
namespace {

absl::StatusOr<std::vector<TensorType>> InferReduceMin(const OpCall& call) {
  PLAIT_RETURN_IF_ERROR(CheckDataType(call, 0, TypeSet::kAny));
  PLAIT_ASSIGN_OR_RETURN(const Reduction reduction, ReductionOf(call));
  if (reduction.count == 0 && !IsFloat(call.input_types[0].dtype)) {
    return absl::UnimplementedError("the bound of no integers at all is not implemented");
  }
  return InferReduce(call, TypeSet::kAny);
}

absl::Status EvaluateReduceMin(const OpCall& call, absl::Span<const EvalTensor* const> inputs,
                               absl::Span<EvalTensor> outputs) {
  PLAIT_ASSIGN_OR_RETURN(const Reduction reduction, ReductionOf(call));
  if (auto* floats = std::get_if<std::vector<double>>(&outputs[0].values)) {
    // NaN stays once it is met, as in numpy.
    const auto combine = [](double a, double b) { return a < b || std::isnan(a) ? a : b; };
    Reduce(reduction, *inputs[0], std::numeric_limits<double>::infinity(), combine, floats);
  } else if (auto* integers = std::get_if<std::vector<int64_t>>(&outputs[0].values)) {
    const auto combine = [](int64_t a, int64_t b) { return std::min(a, b); };
    Reduce(reduction, *inputs[0], std::numeric_limits<int64_t>::max(), combine, integers);
  } else {
    return absl::UnimplementedError("a field has no order");
  }
  return absl::OkStatus();
}

absl::Status RaiseReduceMin(VersionedNode* node) { return RaiseReduce(node, 18); }
absl::Status LowerReduceMin(VersionedNode* node) { return LowerReduce(node, 18); }

}  // namespace

// y = smallest element of x over the axes.
const OpSpec kReduceMinSpec = {
    .kind = OpKind::kReduceMin,
    .since_opset = 1,
    .inputs_min = 1,
    .inputs_max = 2,
    .outputs_min = 1,
    .outputs_max = 1,
    .infer = InferReduceMin,
    .work = WorkOfReduce,
    .evaluate = EvaluateReduceMin,
    .raise = RaiseReduceMin,
    .lower = LowerReduceMin,
    .expand = ExpandReduce,
};

}  // namespace plait
