#pragma once

#include <vector>

#include "optimizer/ir/graph.h"

namespace plait {

// Copies a graph node by node into a builder, so that a pass can leave out or replace what it
// wants. Not thread-safe.
class GraphCopier {
 public:
  // Adds the inputs.
  explicit GraphCopier(const Graph& graph);

  // The tensor in the builder that stands for `tensor`; constants are added when first asked for.
  TensorId Map(TensorId tensor);
  void Set(TensorId tensor, TensorId copy) { copies_[tensor] = copy; }

  // Copies a node with its inputs mapped.
  void Copy(NodeId node);

  GraphBuilder& builder() { return builder_; }

  // Adds the outputs under their names.
  absl::StatusOr<Graph> Finish() &&;

 private:
  const Graph& graph_;
  GraphBuilder builder_;
  std::vector<TensorId> copies_;
};

}  // namespace plait
