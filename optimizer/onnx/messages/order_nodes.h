#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "optimizer/onnx/messages/messages.h"

namespace plait {

// The indices of a graph's nodes in topological order: a node follows the producers of what it and
// its subgraphs read; among nodes that are ready, the one listed first comes first, so that a graph
// that is in order stays as it is.
// Errors: InvalidArgument when two values have one name, a node or a graph output reads what
// nothing produces, or nodes form a cycle; the message names the node.
absl::StatusOr<std::vector<int>> OrderNodes(const onnx::GraphProto& graph);

}  // namespace plait
