#pragma once

#include "absl/types/span.h"
#include "optimizer/ir/graph.h"
#include "optimizer/search/verifier.h"

namespace plait {

// What measuring whole plans is likely to take, rather too long than too short: what a budget is
// asked for before the device is. Pure.

// Seconds that loading a graph once is likely to take, one kernel per node.
double SecondsToLoad(const Graph& graph);

// The same of one kernel of it, alone.
double SecondsToLoadKernel(const Graph& graph, absl::Span<const NodeId> nodes);

// The same of a batch, by the simulator's times, the number of kernels and the bytes of weights.
// `given_inputs`: those that the user gave, on which outputs are compared beside the random ones.
double SecondsToVerify(absl::Span<const PlanCandidate> candidates, const VerificationBatch& batch,
                       int given_inputs = 0);

}  // namespace plait
