#include "optimizer/rules/patterns/expand_batch_normalization.h"

#include "absl/strings/str_cat.h"
#include "optimizer/rules/patterns/reasons.h"
#include "optimizer/rules/patterns/rewrite_builder.h"

namespace plait {

Rewrites ExpandBatchNormalization(const Graph& graph, NodeId node, Misses misses) {
  const Node& norm = graph.node(node);
  const auto miss = [&](absl::string_view what) {
    return misses.Because([&] { return absl::StrCat(NodeText(graph, node), what); });
  };
  if (norm.outputs.size() != 1 || norm.attributes->Int("training_mode", 0) != 0) {
    return miss(" is in training mode");
  }
  const TensorType& type = graph.output_type(node);
  if (type.dtype != DataType::kFloat32 || type.rank() < 2) return miss(" is not in float32");
  for (int i = 1; i <= 4; ++i) {
    const Constant* parameter = graph.constant(node, i);
    if (parameter == nullptr) return miss(" has parameters that are not constant");
    if (parameter->type().dtype != DataType::kFloat32) return miss(" is not in float32");
  }
  const TensorId x = norm.inputs[0];
  const TensorId scale = norm.inputs[1];
  const TensorId bias = norm.inputs[2];
  const TensorId mean = norm.inputs[3];
  const TensorId variance = norm.inputs[4];
  RewriteBuilder builder(graph);
  const TensorId epsilon =
      builder.AddConstant(Tensor::ScalarFloat(norm.attributes->Float("epsilon", 1e-5f)));
  const TensorId deviation =
      builder.Fold(OpKind::kSqrt, {builder.Fold(OpKind::kAdd, {variance, epsilon})});
  const TensorId factor = builder.Fold(OpKind::kDiv, {scale, deviation});
  const TensorId shift =
      builder.Fold(OpKind::kSub, {bias, builder.Fold(OpKind::kMul, {mean, factor})});
  // [C] against [N, C, spatial..] broadcasts as [C, 1, ..].
  std::vector<int64_t> shape(type.rank() - 1, 1);
  shape[0] = type.shape[1];
  const TensorId scaled = builder.Add(OpKind::kMul, {}, {x, builder.Reshape(factor, shape)});
  return builder.Replace(node,
                         builder.Add(OpKind::kAdd, {}, {scaled, builder.Reshape(shift, shape)}));
}

}  // namespace plait
