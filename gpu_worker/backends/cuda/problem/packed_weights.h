#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "gpu_worker/backends/cuda/problem/problem.h"

namespace plait::cuda {

// The weights of a depthwise convolution once more, as [r, s, c] instead of [c, r, s]: the channels
// of a pixel are neighbours in channels-last, and so are their weights then. Libraries read the
// other order. Pure and thread-safe.

// Whether the problem is a depthwise convolution, or begins with one.
bool HasPackedWeights(const Problem& problem);

// REQUIRES: HasPackedWeights(problem), and as many weights as it has, of `element_bytes` each.
std::vector<std::byte> PackWeights(const Problem& problem, std::span<const std::byte> weights,
                                   size_t element_bytes);

// The same of numbers.
std::vector<float> PackWeights(const Problem& problem, const std::vector<float>& weights);

}  // namespace plait::cuda
