#include "optimizer/rules/patterns/expand_batch_normalization.h"

#include "optimizer/rules/patterns/rewrite_builder.h"

namespace plait {

std::optional<Rewrite> ExpandBatchNormalization(const Graph& graph, NodeId node) {
  const Node& norm = graph.node(node);
  if (norm.outputs.size() != 1 || norm.attributes->Int("training_mode", 0) != 0)
    return std::nullopt;
  const TensorType& type = graph.output_type(node);
  if (type.dtype != DataType::kFloat32 || type.rank() < 2) return std::nullopt;
  RewriteBuilder builder(graph);
  ConstantRef parts[4];  // scale, bias, mean, variance
  for (int i = 0; i < 4; ++i) {
    parts[i] = builder.ConstantOf(norm.inputs[i + 1]);
    if (parts[i] == nullptr || parts[i]->type().dtype != DataType::kFloat32) return std::nullopt;
  }
  const auto& [scale, bias, mean, variance] = parts;
  const ConstantRef epsilon =
      Constant::OfTensor(Tensor::ScalarFloat(norm.attributes->Float("epsilon", 1e-5f)));
  const ConstantRef deviation =
      builder.Fold(OpKind::kSqrt, {}, {builder.Fold(OpKind::kAdd, {}, {variance, epsilon})});
  const ConstantRef factor = builder.Fold(OpKind::kDiv, {}, {scale, deviation});
  const ConstantRef shift =
      builder.Fold(OpKind::kSub, {}, {bias, builder.Fold(OpKind::kMul, {}, {mean, factor})});
  // [C] against [N, C, spatial..] broadcasts as [C, 1, ..].
  std::vector<int64_t> shape(type.rank() - 1, 1);
  shape[0] = type.shape[1];
  const TensorId scaled = builder.Add(
      OpKind::kMul, {}, {norm.inputs[0], builder.AddConstant(builder.FoldReshape(factor, shape))});
  const TensorId shifted = builder.Add(
      OpKind::kAdd, {}, {scaled, builder.AddConstant(builder.FoldReshape(shift, shape))});
  builder.Rewire(norm.outputs[0], shifted);
  builder.Remove(node);
  return builder.Finish();
}

}  // namespace plait
