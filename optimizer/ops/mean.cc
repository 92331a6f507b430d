#include "base/status_macros.h"
#include "optimizer/ops/shared/elementwise.h"
#include "optimizer/ops/shared/expansion.h"
#include "optimizer/ops/shared/quotient.h"
#include "optimizer/ops/shared/versions.h"

namespace plait {
namespace {

absl::Status EvaluateMean(const OpCall&, EvalInputs inputs, EvalOutputs outputs) {
  PLAIT_RETURN_IF_ERROR(EvaluateFold(inputs, outputs, [](EvalInputs pair, EvalOutputs result) {
    return EvaluateRingBinary(pair, result, [](auto a, auto b) { return a + b; });
  }));
  std::visit(
      [&](auto& values) {
        for (auto& value : values) value = Quotient(value, static_cast<int64_t>(inputs.size()));
      },
      outputs[0].values);
  return absl::OkStatus();
}

// Sum(...) / count, in float32 for narrower floats.
absl::StatusOr<std::vector<TensorId>> ExpandMean(const Node& node, GraphBuilder* builder) {
  Expansion expansion(builder);
  const DataType dtype = expansion.type(node.inputs[0]).dtype;
  std::vector<TensorId> inputs;
  for (const TensorId input : node.inputs) inputs.push_back(expansion.Cast(input, WideType(dtype)));
  const TensorId count = expansion.Scalar(WideType(dtype), static_cast<double>(node.inputs.size()));
  const TensorId sum = expansion.Add(OpKind::kSum, inputs);
  return expansion.Outputs({expansion.Cast(expansion.Add(OpKind::kDiv, {sum, count}), dtype)});
}

}  // namespace

// y = the mean of the inputs, element by element with broadcasting, since opset 8.
const OpSpec kMeanSpec = {
    .kind = OpKind::kMean,
    .inputs = {1, kVariadic},
    .traits = kCommutative,
    .infer = InferBroadcastOf<TypeSet::kFloat>,
    .evaluate = EvaluateMean,
    .lower = LowerVariadic,
    .expand = ExpandMean,
    .expands_at_import = AlwaysExpands,
};

}  // namespace plait
