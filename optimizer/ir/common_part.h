#pragma once

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "optimizer/ir/graph.h"

namespace plait {

// A graph whose tensors are found by their names, to be compared with many others.
struct NamedGraph {
  explicit NamedGraph(const Graph& named);

  Graph graph;
  absl::flat_hash_map<absl::string_view, TensorId> tensors;  // views of the graph's names
};

// What of one graph is there in another one too: mostly in the graph that a rewrite made of it,
// where ids are others. After %b = Exp(%a) became %t = Neg(%a), in %a = Relu(%x), %b, %y = Add(%a,
// %b), the node of %a is the same, but the users of %a are others; the node of %y reads another
// tensor.
// Tensors are taken for each other by their names, and nodes by what they produce; then all that
// GraphReads tells apart is compared, so that a name that stands for something else now costs time
// and nothing more. Ids that are taken over keep their order. O(nodes + edges). A value that refers
// to neither graph.
class CommonPart {
 public:
  CommonPart(const NamedGraph& before, const Graph& after);

  // Where the node, or tensor, of the graph before is in that after; kNoNode, kNoTensor: nowhere.
  NodeId NodeOf(NodeId before) const { return node_of_[before]; }
  TensorId TensorOf(TensorId before) const { return tensor_of_[before]; }

  // Whether it has the same operator and attributes there, and the same inputs and outputs.
  bool IsSame(NodeId before) const { return is_same_node_[before]; }

  // Whether these parts of what is known of a tensor (GraphReads) are the same there.
  bool AreSame(TensorId before, uint8_t parts) const {
    return (same_parts_[before] & parts) == parts;
  }

 private:
  void FindNodes(const Graph& before, const Graph& after);
  void KeepOrder();
  bool HasSameNode(const Graph& before, const Graph& after, NodeId node) const;
  uint8_t SameParts(const Graph& before, const Graph& after, TensorId tensor) const;

  std::vector<TensorId> tensor_of_;
  std::vector<NodeId> node_of_;
  std::vector<bool> is_same_node_;
  std::vector<uint8_t> same_parts_;
};

}  // namespace plait
