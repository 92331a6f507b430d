#pragma once

#include <vector>

#include "absl/status/status.h"
#include "optimizer/kernels/concat_pieces.h"
#include "optimizer/plan/plan.h"

namespace plait {

// Checks the parts of a plan: each lies in a whole that has its images, both in channels-last, and
// no byte of a whole is written by two steps. So whoever reads a part, or a whole, finds what its
// writer left there, whatever else has been written since. Pure.
// A Concat writes only those of its pieces that do not lie in their place.
// Errors: InvalidArgument saying which value or step is wrong.
// REQUIRES: tensors of values, values and nodes of steps and aliases are in range; what steps read
// and write is what their kernels do.
absl::Status CheckParts(const Plan& plan, const Graph& graph);

// What a step that concatenates images copies: those of its pieces (ConcatPiecesOf) that do not lie
// in its result already.
std::vector<ConcatPiece> CopiedPieces(const Plan& plan, const Graph& graph, const Step& step);

}  // namespace plait
