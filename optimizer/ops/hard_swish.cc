#include <algorithm>

#include "optimizer/ops/shared/elementwise.h"
#include "optimizer/ops/shared/expansion.h"

namespace plait {
namespace {

// x * HardSigmoid(x) with slope 1/6 and offset 1/2.
absl::StatusOr<std::vector<TensorId>> ExpandHardSwish(const Node& node, GraphBuilder* builder) {
  Expansion expansion(builder);
  const TensorId x = node.inputs[0];
  const TensorId gate =
      expansion.Add(OpKind::kHardSigmoid, {x}, {{"alpha", 1.0f / 6.0f}, {"beta", 0.5f}});
  return expansion.Outputs({expansion.Add(OpKind::kMul, {x, gate})});
}

double HardSwish(double x) { return x * std::max(0.0, std::min(1.0, x / 6.0 + 0.5)); }

}  // namespace

// y = x * min(max(x / 6 + 1/2, 0), 1) (Howard et al., ICCV 2019). Before opset 14 it is written as
// a product with HardSigmoid.
const OpSpec kHardSwishSpec = {
    .kind = OpKind::kHardSwish,
    .since_opset = 14,
    .traits = kElementwiseUnary,
    .infer = InferUnaryOf<TypeSet::kFloat>,
    .evaluate = [](const OpCall&, EvalInputs inputs,
                   EvalOutputs outputs) { return EvaluateFloatUnary(inputs, outputs, HardSwish); },
    .expand = ExpandHardSwish,
};

}  // namespace plait
