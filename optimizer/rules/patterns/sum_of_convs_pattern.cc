#include "optimizer/rules/patterns/sum_of_convs_pattern.h"

#include "absl/strings/str_cat.h"
#include "optimizer/rules/patterns/reasons.h"

namespace plait {

std::optional<ConvPair> ReadSumOfConvs(const Graph& graph, NodeId add, Misses misses) {
  for (const int index : {0, 1}) {
    if (ProducerOf(graph, add, index, OpKind::kConv) == kNoNode) return std::nullopt;
  }
  const NodeId first = SoleProducerOf(graph, add, 0, OpKind::kConv, misses);
  const NodeId second = SoleProducerOf(graph, add, 1, OpKind::kConv, misses);
  if (first == kNoNode || second == kNoNode || first == second) return std::nullopt;
  const auto differ = [&](absl::string_view what) {
    return misses.Because([&] {
      return absl::StrCat(NodeText(graph, first), " and ", NodeText(graph, second), what);
    });
  };
  if (graph.output_type(first) != graph.output_type(second)) return differ(" differ in shape");
  const auto a = ViewConv(graph, first, misses);
  const auto b = ViewConv(graph, second, misses);
  if (!a || !b) return std::nullopt;
  // With groups the weights of both would have to be joined group by group.
  if (a->group != 1 || b->group != 1) return differ(" have groups");
  if (a->strides != b->strides || a->dilations != b->dilations || a->pads != b->pads) {
    return differ(" differ in strides, dilations or pads");
  }
  if (a->kernel_height != b->kernel_height || a->kernel_width != b->kernel_width) {
    return differ(" have kernels of other sizes");
  }
  return ConvPair{*a, *b};
}

TensorId SumOfBiases(RewriteBuilder* builder, const ConvPair& pair) {
  if (pair.first.b == kNoTensor && pair.second.b == kNoTensor) return kNoTensor;
  return builder->Fold(OpKind::kAdd,
                       {BiasOrZeros(builder, pair.first), BiasOrZeros(builder, pair.second)});
}

}  // namespace plait
