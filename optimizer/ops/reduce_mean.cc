#include "base/status_macros.h"
#include "optimizer/ops/shared/matrix_product.h"
#include "optimizer/ops/shared/quotient.h"
#include "optimizer/ops/shared/reduction.h"

namespace plait {
namespace {

absl::StatusOr<std::vector<TensorType>> InferReduceMean(const OpCall& call) {
  PLAIT_RETURN_IF_ERROR(CheckDataType(call, 0, TypeSet::kNumber));
  PLAIT_ASSIGN_OR_RETURN(const Reduction reduction, ReductionOf(call));
  if (reduction.count == 0) return absl::InvalidArgumentError("no element has no mean");
  return InferReduce(call, TypeSet::kNumber);
}

absl::Status EvaluateReduceMean(const OpCall& call, absl::Span<const EvalTensor* const> inputs,
                                absl::Span<EvalTensor> outputs) {
  PLAIT_ASSIGN_OR_RETURN(const Reduction reduction, ReductionOf(call));
  std::visit(
      [&]<typename T>(std::vector<T>& output) {
        Reduce(
            reduction, *inputs[0], T(0), [](T a, T b) { return MultiplyAdd(a, T(1), b); }, &output);
        for (T& value : output) value = Quotient(value, reduction.count);
      },
      outputs[0].values);
  return absl::OkStatus();
}

absl::Status RaiseReduceMean(VersionedNode* node) { return RaiseReduce(node, 18); }
absl::Status LowerReduceMean(VersionedNode* node) { return LowerReduce(node, 18); }

}  // namespace

// y = mean of x over the axes; integers truncate.
const OpSpec kReduceMeanSpec = {
    .kind = OpKind::kReduceMean,
    .since_opset = 1,
    .inputs_min = 1,
    .inputs_max = 2,
    .outputs_min = 1,
    .outputs_max = 1,
    .infer = InferReduceMean,
    .work = WorkOfReduce,
    .evaluate = EvaluateReduceMean,
    .raise = RaiseReduceMean,
    .lower = LowerReduceMean,
    .expand = ExpandReduce,
};

}  // namespace plait
