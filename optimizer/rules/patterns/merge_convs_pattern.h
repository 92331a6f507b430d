#pragma once

#include "optimizer/ir/graph.h"
#include "optimizer/rules/patterns/misses.h"

namespace plait {

// Which convolutions of one tensor become one with the filters of all.
enum class MergedKernels {
  kEqual,   // kernels and pads are equal: the filters are laid one behind the other as they are
  kPadded,  // kernels of more than one size: zeros around each make them equal
};

// Merges the convolution at `node` with later ones that read the same tensor in equal steps and
// whose kernels are so: one convolution with the filters of all, and a Split that tells the results
// apart again. Offers all such siblings at once and each by itself, see MergeSets. None when there
// is no sibling. Looks at later ones only, so that each set is found once, at its first node.
Rewrites MergeConvs(const Graph& graph, NodeId node, MergedKernels kernels, Misses misses = {});

}  // namespace plait
