#pragma once

#include "gpu_worker/backends/cuda/problem/candidate.h"

namespace plait::cuda {

// The engines of cuDNN 9 for convolutions (also grouped, with bias, residual and activation),
// matrix products, attention, pooling, layer normalization, and scale and shift. What needs
// compilation at run time says "runtime_compilation" in its notes: the caller chooses which of
// those it prepares. Where no device is present, these are listed only if a driver library can be
// loaded. Engines are listed whose notes the precision allows (IsAllowed); those of kStrict are
// fastest in kNchw, as in kNhwc most of them copy into it first. Engines without
// "native_cuda_graph" in their notes, the precompiled ones, cannot write themselves into a graph;
// FlatGraphBuilder captures all alike.
extern const CandidateSource kCudnnSource;

}  // namespace plait::cuda
