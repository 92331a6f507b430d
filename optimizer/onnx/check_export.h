#pragma once

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "optimizer/ir/graph.h"

namespace plait {

// Proves that an exported file is the graph that was verified: imports the bytes again and compares
// fingerprints, which cover every operator, attribute, type, edge and byte of a constant. Both are
// compared as the file's opset writes them, and Identity nodes, which only give a tensor a second
// name, are followed.
// Takes less time than an import. Pure and thread-safe.
// Errors: Internal when the file cannot be imported or is another graph; those of
// MaterializeConstants.
absl::Status CheckExport(absl::string_view bytes, const Graph& graph, const WeightSource& weights);

}  // namespace plait
