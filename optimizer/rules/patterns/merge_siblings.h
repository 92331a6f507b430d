#pragma once

#include "optimizer/rules/patterns/graph_queries.h"
#include "optimizer/rules/patterns/rewrite_builder.h"

namespace plait {

// Ends a rule that computes two sibling tensors at once: `first` and `second` become the two parts
// of `merged` along `axis`. When both have the same elementwise unary operator as their sole
// reader, it is applied once, before the split, so that the merged kernel can still take it along.
Rewrites ReplaceBySplit(const Graph& graph, RewriteBuilder* builder, TensorId merged, int64_t axis,
                        TensorId first, TensorId second);

}  // namespace plait
