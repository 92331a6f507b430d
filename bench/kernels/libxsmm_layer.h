#pragma once

#include <optional>

#include "optimizer/ir/graph.h"

namespace plait {

// Whether this program was built with libxsmm (Debian: libxsmm-dev), which is compared with only.
bool HasLibxsmm();

// Microseconds that libxsmm takes for the convolution or the product by a constant matrix at
// `node`, in fp32 and in the median, and nothing behind it: in its own blocked formats, by its
// direct convolution or its layer of a product at the best of several blockings, on `threads`
// threads, with weights out of the caches and tensors out of those of each core (as ProfileKernel).
// nullopt: it has no kernel for that (dilation, groups, uneven padding), or is not there.
std::optional<double> LibxsmmMicroseconds(const Graph& graph, NodeId node, int threads);

}  // namespace plait
