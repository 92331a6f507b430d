#pragma once

#include "optimizer/ir/rewrite.h"

namespace plait {

// Which two convolutions of one tensor become one with the filters of both.
enum class MergedKernels {
  kEqual,   // kernels and pads are equal: the filters are laid one behind the other as they are
  kPadded,  // kernels of other sizes: zeros around each make them equal
};

// Merges the convolution at `node` with the first later one that reads the same tensor in equal
// steps and whose kernel is so: one convolution with the filters of both, and a Split that tells
// the two results apart again. None when there is no such sibling. Looks at later ones only, so
// that each pair is found once, at its first node.
Rewrites MergeConvs(const Graph& graph, NodeId node, MergedKernels kernels);

}  // namespace plait
