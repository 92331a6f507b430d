#pragma once

#include "gpu_worker/backends/cuda/problem/candidate.h"

namespace plait::cuda {

// The algorithms of cuBLASLt 13 for matrix products and 1x1 convolutions, with bias, ReLU or GELU
// (tanh form), and residual. Where no device is present, enumerate() gives kUnavailable: cuBLASLt
// has no deviceless mode.
// Of kStrict problems those algorithms are listed that neither use tensor cores nor round inputs;
// of kTf32 ones inputs may be rounded. An erf-GELU, or any other activation without an epilogue,
// gives an empty list, as it would change the numbers or need a second kernel.
extern const CandidateSource kCublasLtSource;

}  // namespace plait::cuda
