#pragma once

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "optimizer/ir/graph.h"
#include "optimizer/onnx/model.h"

namespace plait {

// A subgraph of an opaque node, such as the body of a Loop, as a model of its own: its inputs are
// the subgraph's, in order, and behind them what the node captures (CapturedNames) but constants,
// which become the model's. `types`: of all of them, with kUndefined for captured constants, whose
// place is left out. `graph` came from binding `original`, or from a part of that.
// REQUIRES: the attribute holds a graph, and `types` are as many as its inputs and the captured.
// Errors: those of ImportOnnx and of EvaluateConstant.
absl::StatusOr<Model> SubgraphModel(const Model& original, const Graph& graph, NodeId node,
                                    absl::string_view attribute, absl::Span<const DataType> types);

}  // namespace plait
