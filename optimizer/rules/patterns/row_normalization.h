#pragma once

#include <optional>

#include "optimizer/ir/graph.h"

// What the rules that find normalizations of rows ask of the nodes that spell them out.
namespace plait {

// True when the node averages over the last axis and keeps it.
bool IsRowMean(const Graph& graph, NodeId node);

// True when the node squares `tensor`: Pow(t, 2) or t * t.
bool IsSquareOf(const Graph& graph, NodeId node, TensorId tensor);

// A following `op` with a constant row of `columns` elements, the only reader of a tensor.
struct RowOperation {
  NodeId node;
  TensorId row;
};

// The one that follows `tensor`; nullopt: none does.
std::optional<RowOperation> RowApplied(const Graph& graph, TensorId tensor, OpKind op,
                                       int64_t columns);

}  // namespace plait
