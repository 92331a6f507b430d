#pragma once

#include "optimizer/ir/graph.h"

namespace plait {

// What the families of integers of 8 bits ask of a node. Pure and thread-safe.

bool IsByte(DataType dtype);  // uint8 or int8

// Whether input `index` is omitted or has one element.
bool HasAtMostOne(const Graph& graph, const Node& node, size_t index);

// The same, or a vector of `count` elements.
bool HasOneOrEach(const Graph& graph, const Node& node, size_t index, int64_t count);

// Whether the input is omitted or a constant.
bool IsConstantOrOmitted(const Graph& graph, const Node& node, size_t index);

}  // namespace plait
