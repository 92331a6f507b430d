#pragma once

#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "gpu_worker/backends/cuda/problem/problem.h"
#include "gpu_worker/backends/groups/epilogue.h"

namespace plait::cuda {

// What follows a convolution or a product inside its kernel: a bias, a residual, and then one
// activation, each or none. Pure and thread-safe, as all here.
struct FusedChain {
  std::vector<NodeId> nodes;      // ascending; without the root
  TensorId bias = kNoTensor;      // a constant with one element a channel
  TensorId residual = kNoTensor;  // of the result's shape
  Activation activation = Activation::kNone;
  TensorId result = kNoTensor;
};

// The ways in which a kernel of `root` may end: alone, in front of a residual, which may be what
// the root would wait for, and where nothing more can be taken in.
// `has_bias`: the root adds one itself.
std::vector<FusedChain> FusedChains(const Graph& graph, NodeId root, bool has_bias);

// The chain of exactly these nodes behind `root`; nullopt: they are none.
std::optional<FusedChain> ChainOf(const Graph& graph, NodeId root, bool has_bias,
                                  absl::Span<const NodeId> nodes);

// `root` and the nodes of each of its chains, behind the nodes `front`.
std::vector<std::vector<NodeId>> GrowChains(const Graph& graph, const std::vector<NodeId>& front,
                                            NodeId root, bool has_bias);

// Whether a Conv or Gemm has its third input.
bool HasBias(const Node& node);

// The activation that an operation is; nullopt for any other.
std::optional<Activation> ActivationOf(const PostOperation& operation);

}  // namespace plait::cuda
