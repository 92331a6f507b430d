#include <cmath>

#include "optimizer/ops/shared/elementwise.h"
#include "optimizer/ops/shared/expansion.h"

namespace plait {
namespace {

// Max(0, x) + Min(0, alpha * Elu(x / alpha)), which models before opset 12 may write.
absl::StatusOr<std::vector<TensorId>> ExpandCelu(const Node& node, GraphBuilder* builder) {
  Expansion expansion(builder);
  const TensorId x = node.inputs[0];
  const DataType dtype = expansion.type(x).dtype;
  const TensorId alpha = expansion.Scalar(dtype, node.attributes->Float("alpha", 1.0f));
  const TensorId elu = expansion.Add(OpKind::kElu, {expansion.Add(OpKind::kDiv, {x, alpha})});
  const TensorId scaled = expansion.Add(OpKind::kMul, {elu, alpha});
  const TensorId below = expansion.Add(OpKind::kMin, {scaled, expansion.Scalar(dtype, 0)});
  const TensorId above = expansion.Add(OpKind::kRelu, {x});
  return expansion.Outputs({expansion.Add(OpKind::kAdd, {above, below})});
}

}  // namespace

// y = x for x >= 0, else alpha * (exp(x / alpha) - 1) (Barron, 2017).
const OpSpec kCeluSpec = {
    .kind = OpKind::kCelu,
    .since_opset = 12,
    .traits = kElementwiseUnary,
    .infer = InferUnaryOf<TypeSet::kFloat>,
    .evaluate =
        [](const OpCall& call, EvalInputs inputs, EvalOutputs outputs) {
          const double alpha = call.attributes.Float("alpha", 1.0f);
          return EvaluateFloatUnary(inputs, outputs, [alpha](double x) {
            return x < 0 ? alpha * std::expm1(x / alpha) : x;
          });
        },
    .expand = ExpandCelu,
};

}  // namespace plait
