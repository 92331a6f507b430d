#pragma once

#include <optional>
#include <vector>

#include "absl/strings/string_view.h"
#include "gpu_worker/backends/cpu/offers/epilogue.h"
#include "optimizer/ir/graph.h"

namespace plait {

// What the cpu backend's kernel families can run. The catalog offers by these functions and the
// families read their nodes by the same ones, so what is offered always loads.

// The family that runs `node` alone: a line of the cpu backend's kernels.def; "reference" when it
// is the slow evaluation only.
absl::string_view CpuFamilyOf(const Graph& graph, NodeId node);

// The axis of a convolution's, matrix product's (Gemm's) result that a per-channel operand runs
// along.
int ChannelAxisOf(const Graph& graph, NodeId root);

// A softmax with the operations before it that it applies while it reads: x * scale + mask.
struct SoftmaxPattern {
  TensorId input = kNoTensor;
  float scale = 1;
  TensorId mask = kNoTensor;  // broadcast to the input's shape; kNoTensor: none
  NodeId softmax = kNoNode;
};

// Reads the nodes of a kernel of family "softmax"; nullopt when they are anything else.
std::optional<SoftmaxPattern> ParseSoftmax(const Graph& graph, absl::Span<const NodeId> nodes);

// The nodes of the longest softmax pattern that starts at `node`; empty when there is none.
std::vector<NodeId> GrowSoftmax(const Graph& graph, NodeId node);

// The axes that a Reduce* or Global*Pool node reduces, ascending; nullopt when they are not
// constant.
std::optional<std::vector<int>> ReducedAxes(const Graph& graph, NodeId node);

}  // namespace plait
