#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "optimizer/ir/graph.h"
#include "optimizer/rules/patterns/misses.h"

namespace plait {

// Texts of which rules make what they tell a Misses, for people who know the model.

// "Conv /features/0"; a node without a name is called by its output: "Conv %t0".
std::string NodeText(const Graph& graph, NodeId node);

// Why the tensor has not one reader alone: "Conv /a has 3 readers", "Conv /a is an output of the
// model".
std::string ReadersText(const Graph& graph, TensorId tensor);

// "2x2"
std::string SizesText(absl::Span<const int64_t> sizes);

// "Conv /b has the strides 2x2, Conv /a 1x1"
std::string DiffersText(const Graph& graph, NodeId a, NodeId b, absl::string_view what,
                        absl::string_view of_a, absl::string_view of_b);

// For a rule that wants a constant beside what `op` gives: tells that there is none where `op` is
// at one of the node's two inputs.
NoMatch NoConstantBeside(const Graph& graph, NodeId node, OpKind op, Misses misses);

// Tells that a constant does not have one element, or one for each channel (or column) at its
// place.
NoMatch NotPerChannel(const Graph& graph, TensorId constant, int64_t channels, Misses misses);

}  // namespace plait
