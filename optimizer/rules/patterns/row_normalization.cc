#include "optimizer/rules/patterns/row_normalization.h"

#include "optimizer/rules/patterns/graph_queries.h"

namespace plait {

bool IsRowMean(const Graph& graph, NodeId node) {
  const auto axes = IntsAt(graph, node, 1);
  const int rank = graph.input_type(node, 0).rank();
  return axes && axes->size() == 1 && ((*axes)[0] == -1 || (*axes)[0] == rank - 1) &&
         graph.node(node).attributes->Int("keepdims", 1) == 1;
}

bool IsSquareOf(const Graph& graph, NodeId node, TensorId tensor) {
  const Node& square = graph.node(node);
  if (square.op == OpKind::kPow) return square.inputs[0] == tensor && ScalarAt(graph, node, 1) == 2;
  return square.op == OpKind::kMul && square.inputs[0] == tensor && square.inputs[1] == tensor;
}

std::optional<RowOperation> RowApplied(const Graph& graph, TensorId tensor, OpKind op,
                                       int64_t columns) {
  const NodeId user = SoleUser(graph, tensor, op);
  if (user == kNoNode) return std::nullopt;
  const auto side = OneConstantInput(graph, user);
  if (!side) return std::nullopt;
  const TensorId row = graph.node(user).inputs[side->constant];
  const TensorType& type = graph.type(row);
  if (type.rank() == 0 || type.shape.back() != columns || type.elements() != columns ||
      graph.output_type(user) != graph.type(tensor)) {
    return std::nullopt;
  }
  return RowOperation{user, row};
}

}  // namespace plait
