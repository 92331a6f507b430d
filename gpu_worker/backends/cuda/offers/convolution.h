#pragma once

#include <optional>
#include <vector>

#include "gpu_worker/backends/cuda/offers/fused_chain.h"
#include "gpu_worker/backends/cuda/offers/kernel_problem.h"
#include "gpu_worker/backends/groups/format_rows.h"

namespace plait::cuda {

// Convolutions as problems: what conv and separable ask alike. Pure and thread-safe.

// A convolution of images, or of rows, which are images of one row; without what follows it.
// nullopt: the node is none.
std::optional<ConvProblem> ConvolutionAt(const Graph& graph, NodeId node);

// The same with what follows it.
std::optional<ConvProblem> ConvolutionOf(const Graph& graph, NodeId node, const FusedChain& chain);

// Its weights, which are KCRS or KRSC, and its bias or that of the chain.
OperandValue WeightsOf(const Graph& graph, NodeId node, MemoryLayout layout);
OperandValue BiasOf(const Graph& graph, NodeId node, const FusedChain& chain);

// The convolution that alone reads what a Relu writes; kNoNode: there is none.
NodeId ConvolutionBehind(const Graph& graph, NodeId relu);

// Row-major and channels-last for images, of which weights that are made at run time have the
// former.
std::vector<FormatRow> ConvolutionRows(const Graph& graph, absl::Span<const NodeId> nodes);

}  // namespace plait::cuda
