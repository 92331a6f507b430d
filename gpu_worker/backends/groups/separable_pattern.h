#pragma once

#include <optional>

#include "gpu_worker/backends/groups/epilogue.h"

namespace plait {

// A depthwise convolution, the activations behind it, and the convolution of single pixels that
// alone reads them: a separable convolution, and the second half of an inverted residual block.
// (A. Howard et al., MobileNets, 2017, section 3.1.)
struct SeparablePattern {
  NodeId depthwise = kNoNode;
  Epilogue between;  // reads no tensor but constants
  NodeId pointwise = kNoNode;
  Epilogue after;
};

// Whether the node is a convolution of images with as many groups as channels and results, each
// with constant weights of its own, and enough of them. Pure, as all here.
bool IsDepthwise(const Graph& graph, NodeId node);

// The pattern that begins at the node, with nothing after it; nullopt: none does.
std::optional<SeparablePattern> SeparableAt(const Graph& graph, NodeId node);

// The nodes of the pattern up to `pointwise`, ascending.
std::vector<NodeId> NodesOf(const SeparablePattern& pattern);

// Reads the nodes of a kernel of family "separable"; nullopt when they are anything else.
std::optional<SeparablePattern> ParseSeparable(const Graph& graph, absl::Span<const NodeId> nodes);

}  // namespace plait
