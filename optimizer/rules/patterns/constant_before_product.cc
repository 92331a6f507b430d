#include "optimizer/rules/patterns/constant_before_product.h"

#include "optimizer/rules/patterns/graph_queries.h"

namespace plait {

std::optional<ConstantBeforeProduct> ReadConstantBeforeProduct(const Graph& graph, NodeId node) {
  const auto side = OneConstantInput(graph, node);
  const TensorType& type = graph.output_type(node);
  const TensorId result = graph.node(node).outputs[0];
  if (!side || type.dtype != DataType::kFloat32 || type.rank() < 2) return std::nullopt;
  if (!graph.has_single_use(result)) return std::nullopt;
  const NodeId product = graph.users(result)[0];
  const Node& reader = graph.node(product);
  if (reader.op != OpKind::kMatMul && reader.op != OpKind::kGemm) return std::nullopt;
  if (reader.inputs[0] != result || graph.constant(product, 1) == nullptr) return std::nullopt;
  if (graph.input_type(product, 1).rank() != 2) return std::nullopt;
  if (reader.attributes->Int("transA", 0) != 0) return std::nullopt;
  const TensorId x = graph.node(node).inputs[side->other];
  const TensorId constant = graph.node(node).inputs[side->constant];
  if (graph.type(x) != type) return std::nullopt;
  const int rank = type.rank();
  if (!IsPerChannel(graph.type(constant), rank, rank - 1, type.shape.back())) return std::nullopt;
  return ConstantBeforeProduct{x, constant, product, reader.attributes->Int("transB", 0) != 0};
}

}  // namespace plait
