#include <cmath>

#include "optimizer/ops/shared/elementwise.h"
#include "optimizer/ops/shared/expansion.h"

namespace plait {
namespace {

float Alpha(const Attributes& attributes) { return attributes.Float("alpha", 1.0f); }

// x * Sigmoid(alpha * x)
absl::StatusOr<std::vector<TensorId>> ExpandSwish(const Node& node, GraphBuilder* builder) {
  Expansion expansion(builder);
  const TensorId x = node.inputs[0];
  TensorId scaled = x;
  if (Alpha(*node.attributes) != 1.0f) {
    const TensorId alpha = expansion.Scalar(expansion.type(x).dtype, Alpha(*node.attributes));
    scaled = expansion.Add(OpKind::kMul, {x, alpha});
  }
  const TensorId gate = expansion.Add(OpKind::kSigmoid, {scaled});
  return expansion.Outputs({expansion.Add(OpKind::kMul, {x, gate})});
}

absl::Status EvaluateSwish(const OpCall& call, EvalInputs inputs, EvalOutputs outputs) {
  const double alpha = Alpha(call.attributes);
  return EvaluateFloatUnary(inputs, outputs,
                            [&](double x) { return x / (1.0 + std::exp(-alpha * x)); });
}

}  // namespace

// y = x * sigmoid(alpha * x) (Ramachandran et al., 2017). Before opset 24 models write the product,
// and so does the exporter.
const OpSpec kSwishSpec = {
    .kind = OpKind::kSwish,
    .since_opset = 24,
    .traits = kElementwiseUnary,
    .infer = InferUnaryOf<TypeSet::kFloat>,
    .evaluate = EvaluateSwish,
    .expand = ExpandSwish,
};

}  // namespace plait
