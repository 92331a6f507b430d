#include "optimizer/ops/shared/elementwise.h"
#include "optimizer/ops/shared/expansion.h"

namespace plait {
namespace {

// Less or equal, and not "not Greater", which holds for NaN.
absl::StatusOr<std::vector<TensorId>> Expand(const Node& node, GraphBuilder* builder) {
  const std::vector<TensorId> operands(node.inputs.begin(), node.inputs.end());
  Expansion expansion(builder);
  const TensorId strictly = expansion.Add(OpKind::kLess, operands);
  const TensorId equal = expansion.Add(OpKind::kEqual, operands);
  return expansion.Outputs({expansion.Add(OpKind::kOr, {strictly, equal})});
}

}  // namespace

const OpSpec kLessOrEqualSpec = {
    .kind = OpKind::kLessOrEqual,
    .since_opset = 12,
    .inputs_min = 2,
    .inputs_max = 2,
    .outputs_min = 1,
    .outputs_max = 1,
    .traits = kElementwiseBinary,
    .infer = InferComparisonOf<TypeSet::kNumber>,
    .evaluate =
        [](const OpCall&, EvalInputs inputs, EvalOutputs outputs) {
          return EvaluateNumberBinary(inputs, outputs, [](auto a, auto b) { return a <= b; });
        },
    .expand = Expand,
};

}  // namespace plait
