#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace plait {

// Notes what a function looks at of a graph that it is given by Graph::Watched. What it returns
// depends on nothing else, if it is pure and of ids does no more than compare which is smaller; so
// where all of that is the same in another graph, the function returns the same there. Relu of %a
// that asks for the type of %a has read the node and that type, and neither who else reads %a nor
// where it comes from. Not thread-safe.
class GraphReads {
 public:
  // What is known of a tensor, one bit each.
  static constexpr uint8_t kType = 1;
  static constexpr uint8_t kSource = 2;  // its producer, or its constant
  static constexpr uint8_t kUses = 4;    // its readers, and whether it is a graph output

  // Of a graph of so many nodes and tensors.
  GraphReads(size_t nodes, size_t tensors) : is_node_read_(nodes), parts_of_(tensors) {}

  void AddNode(int32_t node) {
    if (is_node_read_[node] != 0) return;
    is_node_read_[node] = 1;
    nodes_.push_back(node);
  }
  void AddTensor(int32_t tensor, uint8_t part) {
    if (parts_of_[tensor] == 0) tensors_.push_back(tensor);
    parts_of_[tensor] |= part;
  }
  // Of what cannot be told apart: how many nodes there are, or all of them.
  void AddWhole() { is_whole_ = true; }

  // In the order in which they were read first.
  absl::Span<const int32_t> nodes() const { return nodes_; }
  absl::Span<const int32_t> tensors() const { return tensors_; }
  uint8_t PartsOf(int32_t tensor) const { return parts_of_[tensor]; }
  bool is_whole() const { return is_whole_; }

  // Forgets everything, in time that what was read takes.
  void Clear() {
    for (const int32_t node : nodes_) is_node_read_[node] = 0;
    for (const int32_t tensor : tensors_) parts_of_[tensor] = 0;
    nodes_.clear();
    tensors_.clear();
    is_whole_ = false;
  }

 private:
  std::vector<uint8_t> is_node_read_;  // by node
  std::vector<uint8_t> parts_of_;      // by tensor
  std::vector<int32_t> nodes_;
  std::vector<int32_t> tensors_;
  bool is_whole_ = false;
};

}  // namespace plait
