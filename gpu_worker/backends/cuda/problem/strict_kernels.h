#pragma once

#include <cstdint>

#include "gpu_worker/backends/cuda/problem/problem.h"

namespace plait::cuda {

// What is known of libraries without asking them, which takes milliseconds and for some of them a
// device. Pure and thread-safe.

// Whether cuDNN 9 has convolutions in fp32 that end in it. Of those that it has not ours take the
// place, whatever else is in front of it (generated/convolution.cc).
bool CudnnEndsIn(Activation activation);

// Heads of attention that are longer have no kernel of ours.
constexpr int64_t kAttentionDimMax = 128;

// Whether one kernel in strict fp32 computes all of the problem, of cuDNN 9, cuBLASLt 13 or our own
// making. cudnn_steps_test compares with what cuDNN lists. What has none becomes several kernels
// when a plan is loaded (run/split_steps.h), each of which has a time of its own.
//
// cuDNN lists nothing for convolutions behind a Relu. Without a bias and in row-major it lists
// those alone that nothing follows; in channels-last it compiles the others. cuBLASLt ends in Relu
// or in Gelu by tanh. Neither has attention.
bool HasStrictKernel(const Problem& problem, MemoryLayout layout);

}  // namespace plait::cuda
