#pragma once

#include <vector>

#include "optimizer/ir/graph.h"

namespace plait {

// Copies a graph into a builder piece by piece, so that single nodes or constants can be exchanged
// on the way. Names are kept. Not thread-safe.
class GraphCopier {
 public:
  // Adds the graph's inputs to `builder`. Both must outlive the copier.
  GraphCopier(const Graph& graph, GraphBuilder* builder);

  // The copy of a tensor whose producer was copied, of an input, or of a constant (added when it is
  // first asked for). kNoTensor gives kNoTensor.
  TensorId TensorOf(TensorId id);

  // Takes `copy` for the graph's tensor `id`, under the name of the original.
  void Exchange(TensorId id, TensorId copy);

  // The node with the inputs of the copy, and without outputs.
  Node Detached(NodeId id);
  // Adds the node as it is.
  // REQUIRES: called in the graph's order, once per node, unless the node's outputs were exchanged.
  void CopyNode(NodeId id);
  // Makes the copies of the graph's outputs outputs, in order. Last.
  void CopyOutputs();

 private:
  const Graph& graph_;
  GraphBuilder* builder_;
  std::vector<TensorId> copies_;  // per tensor of the graph; kNoTensor: not copied yet
};

}  // namespace plait
