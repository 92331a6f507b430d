#pragma once

#include <optional>

#include "gpu_worker/backends/groups/epilogue.h"

namespace plait {

// A convolution of images of one group by constant weights, and what follows it. One of single
// pixels may begin with what normalizes them: in a dense block, every layer does so with its own
// statistics (G. Huang et al., Densely Connected Convolutional Networks, CVPR 2017, section 3).
struct FmaConvolution {
  NodeId normalization = kNoNode;           // with constant statistics; kNoNode: none
  std::optional<PostOperation> activation;  // of what is normalized
  NodeId conv = kNoNode;
  Epilogue after;
};

// Whether the node is a convolution that may be one's. Pure, as all here.
bool IsFmaConvolution(const Graph& graph, NodeId node);

// The one that begins with the normalization `node`, with nothing after it; nullopt: none does.
std::optional<FmaConvolution> NormalizedConvolutionAt(const Graph& graph, NodeId node);

// The nodes up to the convolution, ascending.
std::vector<NodeId> NodesOf(const FmaConvolution& convolution);

// Reads the nodes of a kernel of family "conv_fma"; nullopt when they are anything else.
std::optional<FmaConvolution> ParseFmaConvolution(const Graph& graph,
                                                  absl::Span<const NodeId> nodes);

}  // namespace plait
