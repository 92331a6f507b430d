#pragma once

#include <vector>

#include "optimizer/rules/patterns/graph_queries.h"
#include "optimizer/rules/patterns/rewrite_builder.h"

namespace plait {

// Replaces two sibling tensors by the two halves of `merged` along `axis`. When both tensors have
// the same elementwise unary operator as their sole reader, it is applied once, before the split.
void ReplaceBySplit(const Graph& graph, RewriteBuilder* builder, TensorId merged, int64_t axis,
                    TensorId first, TensorId second);

}  // namespace plait
