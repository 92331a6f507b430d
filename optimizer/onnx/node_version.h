#pragma once

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "optimizer/ir/graph.h"
#include "optimizer/ops/shared/op_spec.h"

namespace plait {

// Rewrites a node of the model's opset, whose inputs are tensors of `builder`, to the newest
// opset's semantics. Constants that become inputs on the way are added to `builder`.
// Errors: Unimplemented when the newest opset cannot express the node; those of OpSpec::raise.
absl::StatusOr<Node> RaiseNode(Node node, int opset, int output_count, GraphBuilder* builder);

// A node in the form of an older opset: an input is a tensor of the graph, a value that the older
// form wants as an input, or omitted.
struct LoweredNode {
  Attributes attributes;
  struct Input {
    TensorId tensor = kNoTensor;
    std::optional<Tensor> value;
  };
  std::vector<Input> inputs;
};

// The inverse for a node of a finished graph, which is not changed. What cannot be lowered may
// still be expanded (expand_nodes.h).
// Errors: Unimplemented when `opset` cannot express the node.
absl::StatusOr<LoweredNode> LowerNode(const Graph& graph, NodeId id, int opset);

}  // namespace plait
