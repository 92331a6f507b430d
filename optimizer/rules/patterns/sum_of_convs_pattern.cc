#include "optimizer/rules/patterns/sum_of_convs_pattern.h"

namespace plait {

std::optional<ConvPair> ReadSumOfConvs(const Graph& graph, NodeId add) {
  const NodeId first = SoleProducerOf(graph, add, 0, OpKind::kConv);
  const NodeId second = SoleProducerOf(graph, add, 1, OpKind::kConv);
  if (first == kNoNode || second == kNoNode || first == second) return std::nullopt;
  if (graph.output_type(first) != graph.output_type(second)) return std::nullopt;
  const auto a = ViewConv(graph, first);
  const auto b = ViewConv(graph, second);
  // With groups the weights of both would have to be joined group by group.
  if (!a || !b || a->group != 1 || b->group != 1) return std::nullopt;
  if (a->strides != b->strides || a->dilations != b->dilations || a->pads != b->pads ||
      a->kernel_height != b->kernel_height || a->kernel_width != b->kernel_width) {
    return std::nullopt;
  }
  return ConvPair{*a, *b};
}

TensorId SumOfBiases(RewriteBuilder* builder, const ConvPair& pair) {
  if (pair.first.b == kNoTensor && pair.second.b == kNoTensor) return kNoTensor;
  return builder->Fold(OpKind::kAdd,
                       {BiasOrZeros(builder, pair.first), BiasOrZeros(builder, pair.second)});
}

}  // namespace plait
