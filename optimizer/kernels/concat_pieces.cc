#include "optimizer/kernels/concat_pieces.h"

#include "optimizer/ops/shared/axes.h"

namespace plait {

std::vector<ConcatPiece> ConcatPiecesOf(const Graph& graph, const Kernel& kernel) {
  if (kernel.nodes.size() != 1 || kernel.output_formats != std::vector{Format::kChannelsLast}) {
    return {};
  }
  const Node& node = graph.node(kernel.nodes[0]);
  if (node.op != OpKind::kConcat) return {};
  if (NormalAxis(node.attributes->Int("axis", 0), /*rank=*/4) != 1) return {};
  std::vector<ConcatPiece> pieces;
  int64_t first_channel = 0;
  for (const TensorId input : node.inputs) {
    if (input == kNoTensor) return {};
    pieces.push_back({input, first_channel});
    first_channel += graph.type(input).shape[1];
  }
  return pieces;
}

}  // namespace plait
