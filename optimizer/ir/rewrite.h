#pragma once

#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "optimizer/ir/graph.h"

namespace plait {

// What a rule wants changed: data, not code, so that it can be priced, hashed, printed and thrown
// away. Relu(Relu(x)), made of nodes 0 and 1, becomes Relu(x) by {removed = {1}, rewired = {{y1,
// y0}}}. Cost differences are read from it and hashes updated by it; only an accepted one is
// applied to build a Graph.
//
// Tensor ids below graph.tensor_count() are the graph's; higher ones are new, in this order: first
// `constants`, then the outputs of `added`, node by node.
struct Rewrite {
  struct NewNode {
    OpKind op;
    AttributesRef attributes = NoAttributes();
    absl::InlinedVector<TensorId, 4> inputs;
    std::vector<TensorType> output_types;
  };

  std::vector<NodeId> removed;  // ascending
  std::vector<ConstantRef> constants;
  std::vector<NewNode> added;  // topological among themselves
  // Every reader of `first` (and the graph output) reads `second` from now on. The types are equal.
  std::vector<std::pair<TensorId, TensorId>> rewired;

  // Readers of the node's output 0 read `replacement` instead, and the node goes.
  static Rewrite Replace(const Graph& graph, NodeId node, TensorId replacement);
};

// What a rule offers at one node, the preferred one first; nearly always empty, which allocates
// nothing.
using Rewrites = std::vector<Rewrite>;

// The graph with `rewrite` applied. Names stay: a tensor that replaces another takes over its name
// when the replaced one is a graph output or the new one has none.
// Errors: InvalidArgument when a removed node's output is still read, types of rewired tensors
// differ, or the result has a cycle: the rule is wrong, and the message names it by the tensors
// involved.
absl::StatusOr<Graph> Apply(const Graph& graph, const Rewrite& rewrite);

// The graph with all of `rewrites` applied, each of which speaks of `graph` as it is.
// REQUIRES: they are those of one RewriteBatch. Errors: as above.
absl::StatusOr<Graph> Apply(const Graph& graph, absl::Span<const Rewrite> rewrites);

}  // namespace plait
