#pragma once

#include <initializer_list>
#include <optional>

#include "optimizer/ir/graph.h"

namespace plait {

// What several families ask of a node before they run it. Pure and thread-safe.

// Whether the node has one of these operators, and a first input and a first output, which every
// kernel here reads and writes. The other checks require it.
bool IsOneOf(const Graph& graph, NodeId node, std::initializer_list<OpKind> ops);

// The same for any operator but an opaque one.
bool HasEnds(const Graph& graph, NodeId node);

// Whether every input and output that is there holds float32, and at least one element; of the
// outputs behind the first, those that somebody reads.
bool AllFloat32(const Graph& graph, NodeId node);

// Convolution and pooling windows: padding is explicit, and never negative.
bool HasExplicitPadding(const Node& node);

// Elements that can be copied without being understood.
bool IsMovable(const Graph& graph, NodeId node);

// Whether the inputs from `first` on are omitted or constants whose values are at hand.
bool HasInlineInputs(const Graph& graph, const Node& node, size_t first);

// Whether the node has the output, and somebody reads it.
bool IsRead(const Graph& graph, const Node& node, size_t output);

// Whether nothing but the first output is wanted.
bool HasOneOutput(const Node& node);

// Whether nothing but the first output is read, whatever else is there.
bool HasOneReadOutput(const Graph& graph, const Node& node);

// Attribute "axis" counted from the front; nullopt when the first input has no such axis.
std::optional<int> AxisOf(const Graph& graph, NodeId node, int otherwise);

}  // namespace plait
