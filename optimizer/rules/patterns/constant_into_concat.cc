#include "optimizer/rules/patterns/constant_into_concat.h"

#include "absl/strings/str_cat.h"
#include "optimizer/ops/shared/axes.h"
#include "optimizer/rules/patterns/conv_view.h"
#include "optimizer/rules/patterns/reasons.h"

namespace plait {
namespace {

bool JoinsConvs(const Graph& graph, NodeId concat, Misses misses) {
  if (graph.output_type(concat).rank() != 4) return false;
  if (NormalAxis(graph.node(concat).attributes->Int("axis", 0), 4) != 1) return false;
  for (size_t i = 0; i < graph.node(concat).inputs.size(); ++i) {
    const int index = static_cast<int>(i);
    if (ProducerOf(graph, concat, index, OpKind::kConv) == kNoNode) {
      misses.Because(
          [&] { return absl::StrCat(NodeText(graph, concat), " joins more than convolutions"); });
      return false;
    }
    const NodeId conv = SoleProducerOf(graph, concat, index, OpKind::kConv, misses);
    if (conv == kNoNode || !ViewConv(graph, conv, misses)) return false;
  }
  return true;
}

}  // namespace

Rewrites ConstantIntoConcat(const Graph& graph, NodeId node, Misses misses) {
  const auto side = OneConstantInput(graph, node);
  if (!side) return {};
  const NodeId concat = SoleProducerOf(graph, node, side->other, OpKind::kConcat, misses);
  if (concat == kNoNode || !JoinsConvs(graph, concat, misses)) return {};
  const TensorId constant = graph.node(node).inputs[side->constant];
  const int64_t channels = graph.output_type(concat).shape[1];
  if (!IsPerChannel(graph.type(constant), 4, 1, channels)) {
    return NotPerChannel(graph, constant, channels, misses);
  }
  RewriteBuilder builder(graph);
  const TensorId vector = AsChannelVector(&builder, constant, channels);
  std::vector<TensorId> inputs;
  int64_t first = 0;
  for (const TensorId input : graph.node(concat).inputs) {
    const int64_t count = graph.type(input).shape[1];
    const TensorId part =
        builder.Fold(OpKind::kSlice, {vector, builder.AddConstant(Tensor::Int64s({first})),
                                      builder.AddConstant(Tensor::Int64s({first + count}))});
    inputs.push_back(
        builder.Add(graph.node(node).op, {}, {input, builder.Reshape(part, {count, 1, 1})}));
    first += count;
  }
  return builder.Replace(node,
                         builder.Add(OpKind::kConcat, *graph.node(concat).attributes, inputs));
}

}  // namespace plait
