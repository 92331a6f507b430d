#pragma once

#include "gpu_worker/backends/cuda/problem/candidate.h"

namespace plait::cuda {

// The algorithms of cuBLASLt 13 for matrix products and 1x1 convolutions, with bias, ReLU or GELU
// (tanh form), and residual. Where no device is present, enumerate() gives kUnavailable: cuBLASLt
// has no deviceless mode.
extern const CandidateSource kCublasLtSource;

}  // namespace plait::cuda
