#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "gpu_worker/backends/cuda/offers/kernel_problem.h"

namespace plait::cuda {

// Elementwise nodes as the expression of an ElementwiseProblem. Pure and thread-safe.

// Whether an expression has the node's operator, with elements of its types.
bool HasExpression(const Graph& graph, NodeId node);

// An expression and what its x0, x1, ... are.
struct ExpressionText {
  std::string text;
  std::vector<OperandValue> inputs;
  std::vector<std::vector<int64_t>> sizes;  // of each input
  std::vector<ElementType> types;           // of each; empty: all are floats
};

// What the last of the nodes makes of what they read. A value that several of them read is written
// out each time.
// nullopt: they are no such nodes, have several results, or make too long an expression.
std::optional<ExpressionText> ExpressionOf(const Graph& graph, absl::Span<const NodeId> nodes,
                                           MemoryLayout layout);

}  // namespace plait::cuda
