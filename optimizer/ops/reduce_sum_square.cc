#include "base/status_macros.h"
#include "optimizer/ops/shared/matrix_product.h"
#include "optimizer/ops/shared/reduction.h"

namespace plait {
namespace {

// Sums and products only, so that it is exact in GF(p).
absl::Status EvaluateReduceSumSquare(const OpCall& call, EvalInputs inputs, EvalOutputs outputs) {
  PLAIT_ASSIGN_OR_RETURN(const Reduction reduction, ReductionOf(call));
  std::visit(
      [&]<typename T>(std::vector<T>& output) {
        Reduce(
            reduction, *inputs[0], T(0), [](T sum, T x) { return MultiplyAdd(x, x, sum); },
            &output);
      },
      outputs[0].values);
  return absl::OkStatus();
}

// What is left of it over no axes.
absl::StatusOr<std::vector<TensorId>> ExpandReduceSumSquare(const Node& node,
                                                            GraphBuilder* builder) {
  return ExpandElements(node, builder, [](TensorId x, Expansion* expansion) {
    return expansion->Add(OpKind::kMul, {x, x});
  });
}

}  // namespace

// y = the sum of x^2 over the axes, which are an input since opset 18.
const OpSpec kReduceSumSquareSpec = {
    .kind = OpKind::kReduceSumSquare,
    .inputs = {1, 2},
    .infer = InferReduceOf<TypeSet::kNumber>,
    .work = WorkOfReduce,
    .evaluate = EvaluateReduceSumSquare,
    .raise = RaiseReduceOf<18>,
    .lower = LowerReduceOf<18>,
    .expand = ExpandReduceSumSquare,
    .expands_at_import = ReducesNothing,
};

}  // namespace plait
