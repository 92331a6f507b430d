#include "base/status_macros.h"
#include "optimizer/ops/shared/matrix_product.h"
#include "optimizer/ops/shared/reduction.h"

namespace plait {
namespace {

absl::StatusOr<std::vector<TensorType>> InferReduceProd(const OpCall& call) {
  return InferReduce(call, TypeSet::kNumber);
}

absl::Status EvaluateReduceProd(const OpCall& call, absl::Span<const EvalTensor* const> inputs,
                                absl::Span<EvalTensor> outputs) {
  PLAIT_ASSIGN_OR_RETURN(const Reduction reduction, ReductionOf(call));
  std::visit(
      [&]<typename T>(std::vector<T>& output) {
        Reduce(
            reduction, *inputs[0], T(1), [](T a, T b) { return MultiplyAdd(a, b, T(0)); }, &output);
      },
      outputs[0].values);
  return absl::OkStatus();
}

absl::Status RaiseReduceProd(VersionedNode* node) { return RaiseReduce(node, 18); }
absl::Status LowerReduceProd(VersionedNode* node) { return LowerReduce(node, 18); }

}  // namespace

// y = product of x over the axes; 1 over no element.
const OpSpec kReduceProdSpec = {
    .kind = OpKind::kReduceProd,
    .since_opset = 1,
    .inputs_min = 1,
    .inputs_max = 2,
    .outputs_min = 1,
    .outputs_max = 1,
    .infer = InferReduceProd,
    .work = WorkOfReduce,
    .evaluate = EvaluateReduceProd,
    .raise = RaiseReduceProd,
    .lower = LowerReduceProd,
    .expand = ExpandReduce,
};

}  // namespace plait
