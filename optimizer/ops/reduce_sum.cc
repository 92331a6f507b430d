#include "base/status_macros.h"
#include "optimizer/ops/shared/matrix_product.h"
#include "optimizer/ops/shared/reduction.h"

namespace plait {
namespace {

absl::StatusOr<std::vector<TensorType>> InferReduceSum(const OpCall& call) {
  return InferReduce(call, TypeSet::kNumber);
}

absl::Status EvaluateReduceSum(const OpCall& call, absl::Span<const EvalTensor* const> inputs,
                               absl::Span<EvalTensor> outputs) {
  PLAIT_ASSIGN_OR_RETURN(const Reduction reduction, ReductionOf(call));
  std::visit(
      [&]<typename T>(std::vector<T>& output) {
        Reduce(
            reduction, *inputs[0], T(0), [](T a, T b) { return MultiplyAdd(a, T(1), b); }, &output);
      },
      outputs[0].values);
  return absl::OkStatus();
}

absl::Status RaiseReduceSum(VersionedNode* node) { return RaiseReduce(node, 13); }
absl::Status LowerReduceSum(VersionedNode* node) { return LowerReduce(node, 13); }

}  // namespace

// y = sum of x over the axes; 0 over no element.
const OpSpec kReduceSumSpec = {
    .kind = OpKind::kReduceSum,
    .since_opset = 1,
    .inputs_min = 1,
    .inputs_max = 2,
    .outputs_min = 1,
    .outputs_max = 1,
    .infer = InferReduceSum,
    .work = WorkOfReduce,
    .evaluate = EvaluateReduceSum,
    .raise = RaiseReduceSum,
    .lower = LowerReduceSum,
    .expand = ExpandReduce,
};

}  // namespace plait
