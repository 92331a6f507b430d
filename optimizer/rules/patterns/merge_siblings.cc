#include "optimizer/rules/patterns/merge_siblings.h"

#include <algorithm>

#include "optimizer/ops/shared/op_spec.h"

namespace plait {
namespace {

// The sole reader of the tensor when it is unary without further inputs; kNoNode otherwise.
NodeId UnaryReader(const Graph& graph, TensorId tensor) {
  if (!graph.has_single_use(tensor)) return kNoNode;
  const NodeId user = graph.users(tensor)[0];
  const Node& node = graph.node(user);
  // Bounds or slopes would have to be equal on all sides.
  return HasTraits(node.op, kElementwiseUnary) && node.inputs.size() == 1 ? user : kNoNode;
}

// The unary reader of each tensor; empty unless all of them apply the same operator.
std::vector<NodeId> EqualUnaryReaders(const Graph& graph, absl::Span<const TensorId> tensors) {
  std::vector<NodeId> readers;
  for (const TensorId tensor : tensors) readers.push_back(UnaryReader(graph, tensor));
  const bool are_equal = std::all_of(readers.begin(), readers.end(), [&](NodeId reader) {
    return reader != kNoNode && readers[0] != kNoNode &&
           graph.node(reader).op == graph.node(readers[0]).op &&
           *graph.node(reader).attributes == *graph.node(readers[0]).attributes;
  });
  if (!are_equal) readers.clear();
  return readers;
}

}  // namespace

Rewrites ReplaceBySplit(const Graph& graph, RewriteBuilder* builder, TensorId merged, int64_t axis,
                        std::vector<TensorId> siblings) {
  const std::vector<NodeId> readers = EqualUnaryReaders(graph, siblings);
  if (!readers.empty()) {
    const Node& reader = graph.node(readers[0]);
    merged = builder->Add(reader.op, *reader.attributes, {merged});
    for (size_t i = 0; i < siblings.size(); ++i) siblings[i] = graph.node(readers[i]).outputs[0];
  }
  std::vector<int64_t> sizes;
  for (const TensorId sibling : siblings) sizes.push_back(graph.type(sibling).shape[axis]);
  const TensorId split = builder->AddConstant(Tensor::Int64s(sizes));
  const std::vector<TensorId> parts =
      builder->AddMany(OpKind::kSplit, {{"axis", axis}}, std::vector<TensorId>{merged, split},
                       static_cast<int>(siblings.size()));
  for (size_t i = 0; i < siblings.size(); ++i) builder->Rewire(siblings[i], parts[i]);
  return builder->Finish();
}

}  // namespace plait
