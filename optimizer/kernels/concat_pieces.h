#pragma once

#include <vector>

#include "optimizer/kernels/kernel.h"

namespace plait {

// What a Concat puts into its result.
struct ConcatPiece {
  TensorId tensor = kNoTensor;
  int64_t first_channel = 0;  // of the result
};

// The pieces of a kernel that concatenates images along their channels, to channels-last, in the
// order of its node's inputs; none of any other kernel. Pure.
// REQUIRES: the kernel's nodes are the graph's, and it has a format for each of OutputsOf.
std::vector<ConcatPiece> ConcatPiecesOf(const Graph& graph, const Kernel& kernel);

}  // namespace plait
