#pragma once

#include <optional>

#include "absl/types/span.h"
#include "optimizer/ir/graph.h"

namespace plait {

// A softmax with the operations before it that it applies while it reads: x * scale + mask.
// Three nodes at most, so that scores of attention are read and written once instead of three
// times.
struct SoftmaxPattern {
  TensorId input = kNoTensor;
  float scale = 1;
  TensorId mask = kNoTensor;  // broadcast to the input's shape; kNoTensor: none
  NodeId softmax = kNoNode;
};

// Whether the node is a softmax, or its logarithm, that a kernel runs. Pure, as all here.
bool IsSoftmax(const Graph& graph, NodeId node);

// Reads the nodes of a kernel of family "softmax"; nullopt when they are anything else.
std::optional<SoftmaxPattern> ParseSoftmax(const Graph& graph, absl::Span<const NodeId> nodes);

}  // namespace plait
