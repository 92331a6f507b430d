#pragma once

#include <vector>

#include "gpu_worker/backends/groups/format_rows.h"

namespace plait {

// Reshapes and transposes in a row, as one kernel. A *view* gives bytes another name; a *move*
// copies them once. Pure and thread-safe.

// Whether the node alone is a view in some formats.
bool IsView(const Graph& graph, NodeId node);

// The chains of at most three nodes from `node` on in which a Transpose moves nothing, because what
// it is to move lies so already.
std::vector<std::vector<NodeId>> GrowViews(const Graph& graph, NodeId node);

// Every pair of formats between which the bytes stay what they are.
std::vector<FormatRow> ViewRows(const Graph& graph, absl::Span<const NodeId> nodes);

// Whether the node is a Transpose of elements that can be copied.
bool IsMove(const Graph& graph, NodeId node);

// The chains of at most three nodes from `node` on that one copy does in some formats.
std::vector<std::vector<NodeId>> GrowMoves(const Graph& graph, NodeId node);

// The formats in which a Transpose, or a chain of GrowMoves, is one copy.
std::vector<FormatRow> MoveRows(const Graph& graph, absl::Span<const NodeId> nodes);

}  // namespace plait
