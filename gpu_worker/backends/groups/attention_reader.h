#pragma once

#include <optional>

#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "gpu_worker/backends/groups/attention_pattern.h"

namespace plait {

// What attention_pattern is made of: the nodes on both sides of an attention, and its middle.

// Nodes between the scores' product and the Softmax at most.
constexpr int kStepsToScores = 8;

// A product by one positive number.
struct Factor {
  TensorId tensor = kNoTensor;
  float number = 1;
};
// nullopt: the node is something else.
std::optional<Factor> FactorOf(const Graph& graph, NodeId node);

// Whether a strided read may do in the place of the node, if it can for how the input lies.
bool MovesByStrides(const Graph& graph, NodeId node);
bool ReshapesOrTransposes(const Graph& graph, NodeId node);

// Which input of a node between the scores' product and the Softmax leads to the product: the
// other one is a number or a mask, or the shape that the scores get. nullopt: none does.
std::optional<size_t> SideOfScores(const Graph& graph, NodeId node);

// A tensor as it can be read out of one that no node `is_inside` makes, and the number that its
// elements are multiplied by.
struct StridedRead {
  TensorId tensor = kNoTensor;
  StridedView view;
  float factor = 1;
  std::vector<NodeId> nodes;  // that it stands for
};
// nullopt: node `blocked` has to move something.
std::optional<StridedRead> ReadBackwards(const Graph& graph, TensorId tensor,
                                         absl::FunctionRef<bool(NodeId)> is_inside,
                                         NodeId* blocked);

// Where the elements of a tensor lie in what the nodes behind it, each of which reads the one
// before, make of it. nullopt: one of them has to move something.
std::optional<StridedView> WrittenBehind(const Graph& graph, TensorId tensor,
                                         absl::Span<const NodeId> behind);

// Reads the nodes of a kernel: see ParseAttention.
class AttentionReader {
 public:
  AttentionReader(const Graph& graph, absl::Span<const NodeId> nodes)
      : graph_(graph), nodes_(nodes) {}

  std::optional<AttentionPattern> Run();

 private:
  bool IsInside(NodeId node) const;
  NodeId FindCore() const;
  // The nodes of the middle, of which `pattern_` gets scale and mask.
  bool ReadAttention(NodeId core);
  bool ReadProducts(NodeId softmax);
  bool ReadScores(NodeId softmax, NodeId* product);
  // What scales queries or keys scales the scores.
  std::optional<AttentionPattern::Matrices> Read(TensorId tensor);
  std::optional<AttentionPattern::Matrices> ReadUnscaled(TensorId tensor);
  std::optional<AttentionPattern::Matrices> Written(TensorId tensor);
  // A mask of scores of a shape that get another one behind it.
  bool AddMask(TensorId mask, const Shape& scores, absl::Span<const NodeId> behind);
  bool IsWhole() const;

  const Graph& graph_;
  absl::Span<const NodeId> nodes_;
  AttentionPattern pattern_;
  absl::flat_hash_set<NodeId> read_;  // nodes that the pattern stands for
};

}  // namespace plait
