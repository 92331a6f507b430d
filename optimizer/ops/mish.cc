#include <cmath>

#include "optimizer/ops/shared/elementwise.h"
#include "optimizer/ops/shared/expansion.h"

namespace plait {
namespace {

// x * Tanh(Softplus(x)), in float32 for narrower floats.
absl::StatusOr<std::vector<TensorId>> ExpandMish(const Node& node, GraphBuilder* builder) {
  Expansion expansion(builder);
  const DataType dtype = expansion.type(node.inputs[0]).dtype;
  const TensorId x = expansion.Cast(node.inputs[0], WideType(dtype));
  const TensorId gate = expansion.Add(OpKind::kTanh, {expansion.Add(OpKind::kSoftplus, {x})});
  return expansion.Outputs({expansion.Cast(expansion.Add(OpKind::kMul, {x, gate}), dtype)});
}

// The exponential's argument is never positive, so that nothing overflows.
double Mish(double x) {
  return x * std::tanh((x > 0 ? x : 0) + std::log1p(std::exp(-std::abs(x))));
}

}  // namespace

// y = x * tanh(log(1 + exp(x))) (Misra, BMVC 2020). Before opset 18 models write it so, and so does
// the exporter.
const OpSpec kMishSpec = {
    .kind = OpKind::kMish,
    .since_opset = 18,
    .traits = kElementwiseUnary,
    .infer = InferUnaryOf<TypeSet::kFloat>,
    .evaluate = [](const OpCall&, EvalInputs inputs,
                   EvalOutputs outputs) { return EvaluateFloatUnary(inputs, outputs, Mish); },
    .expand = ExpandMish,
};

}  // namespace plait
