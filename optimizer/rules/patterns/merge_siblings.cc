#include "optimizer/rules/patterns/merge_siblings.h"

#include "optimizer/ops/shared/op_spec.h"

namespace plait {
namespace {

// The sole reader of the tensor when it is unary without further inputs; kNoNode otherwise.
NodeId UnaryReader(const Graph& graph, TensorId tensor) {
  if (!graph.has_single_use(tensor)) return kNoNode;
  const NodeId user = graph.users(tensor)[0];
  const Node& node = graph.node(user);
  // Bounds or slopes would have to be equal on both sides.
  return HasTraits(node.op, kElementwiseUnary) && node.inputs.size() == 1 ? user : kNoNode;
}

}  // namespace

Rewrites ReplaceBySplit(const Graph& graph, RewriteBuilder* builder, TensorId merged, int64_t axis,
                        TensorId first, TensorId second) {
  const NodeId first_reader = UnaryReader(graph, first);
  const NodeId second_reader = UnaryReader(graph, second);
  if (first_reader != kNoNode && second_reader != kNoNode &&
      graph.node(first_reader).op == graph.node(second_reader).op &&
      *graph.node(first_reader).attributes == *graph.node(second_reader).attributes) {
    const Node& reader = graph.node(first_reader);
    merged = builder->Add(reader.op, *reader.attributes, {merged});
    first = reader.outputs[0];
    second = graph.node(second_reader).outputs[0];
  }
  const std::vector<int64_t> sizes = {graph.type(first).shape[axis],
                                      graph.type(second).shape[axis]};
  const TensorId split = builder->AddConstant(Tensor::Int64s(sizes));
  const std::vector<TensorId> parts =
      builder->AddMany(OpKind::kSplit, {{"axis", axis}}, std::vector<TensorId>{merged, split}, 2);
  builder->Rewire(first, parts[0]);
  builder->Rewire(second, parts[1]);
  return builder->Finish();
}

}  // namespace plait
