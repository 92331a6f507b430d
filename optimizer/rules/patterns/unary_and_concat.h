#pragma once

#include "optimizer/ir/graph.h"
#include "optimizer/rules/patterns/misses.h"

namespace plait {

// Concat(f(x), f(y)) as f(Concat(x, y)): one operator f in the place of several. None unless all
// inputs of the Concat come from one elementwise unary operator with equal attributes and further
// inputs, and are read by nothing else; tells which of the operators is not so.
Rewrites JoinBeforeUnary(const Graph& graph, NodeId concat, Misses misses = {});

// f(Concat(x, y)) as Concat(f(x), f(y)), backwards. None unless an elementwise unary operator alone
// reads the Concat.
Rewrites ApplyBeforeConcat(const Graph& graph, NodeId concat);

}  // namespace plait
