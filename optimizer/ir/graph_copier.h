#pragma once

#include <string>
#include <vector>

#include "optimizer/ir/graph.h"

namespace plait {

// Copies a graph into a builder piece by piece, so that a pass can leave out, exchange or expand
// single nodes and constants on the way:
//
//   GraphBuilder builder;
//   GraphCopier copier(graph, &builder);
//   for (NodeId node = 0; node < graph.node_count(); ++node) {
//     .. either copier.CopyNode(node), or copier.Set for each of its outputs ..
//   }
//   copier.CopyOutputs();
//   return std::move(builder).Finish();
//
// What is copied keeps its name unless that is forgotten first. Not thread-safe.
class GraphCopier {
 public:
  // Adds the graph's inputs to `builder`. Both must outlive the copier.
  GraphCopier(const Graph& graph, GraphBuilder* builder);

  // Takes `inputs`, tensors of `builder`, for the graph's first inputs: puts the graph, or a part
  // of it whose other sources are set, into another one. REQUIRES: of the same types.
  GraphCopier(const Graph& graph, GraphBuilder* builder, absl::Span<const TensorId> inputs);

  // The copy of a tensor whose producer was copied, of an input, or of a constant (added when it is
  // first asked for). kNoTensor gives kNoTensor.
  TensorId TensorOf(TensorId id);

  // Takes `copy` for the graph's tensor `id`; Exchange gives it the name of the original too.
  void Set(TensorId id, TensorId copy) { copies_[id] = copy; }
  void Exchange(TensorId id, TensorId copy);

  // The builder will generate a name for the copy of `id`. Before it is copied.
  void ForgetName(TensorId id) { is_nameless_[id] = true; }

  // The node with the inputs of the copy, and without outputs.
  Node Detached(NodeId id);

  // REQUIRES: the producers of its inputs were copied, or their outputs set.
  void CopyNode(NodeId id) { CopyNodeAs(id, Detached(id)); }

  // Adds `node`, whose inputs are tensors of the builder, with the outputs of the graph's node
  // `id`.
  void CopyNodeAs(NodeId id, Node node);

  // Adds the outputs, under the names of the graph's: only what became a graph input keeps its own.
  // Last of all.
  void CopyOutputs();

 private:
  std::string NameOf(TensorId id) const { return is_nameless_[id] ? "" : *graph_.tensor(id).name; }

  const Graph& graph_;
  GraphBuilder* builder_;
  std::vector<TensorId> copies_;  // by tensor of the graph; kNoTensor: not copied yet
  std::vector<bool> is_nameless_;
};

}  // namespace plait
