#pragma once

#include <cstdint>
#include <vector>

#include "gpu_worker/backends/cuda/problem/problem.h"

namespace plait::cuda {

// The shapes of a problem's outputs as they lie in memory: the last dimension is that of
// neighbours. {n, h, w, k} for a convolution in kNhwc.
// REQUIRES: ShapeOf() accepts the problem.
std::vector<std::vector<int64_t>> OutputsInMemory(const Problem& problem, MemoryLayout layout);

// The places along a dimension where kernels cut their tiles off, in order: the first and the last,
// and on both sides of the first and the last border of tiles of 16, 32, 64 and 128.
std::vector<int64_t> EdgesOf(int64_t size);

// Places in a tensor of this shape, as offsets: the first and the last one, every corner, some of
// every edge (EdgesOf) of every dimension, and others up to about `count`: of these, as many as a
// dimension is long meet each of its indices once, so that one channel's bias or one row that is
// wrong is met however few its elements are. A tensor that has no more than `count` elements is
// taken in whole and in order; else places may come twice.
// The same call gives the same places on every machine. At most 8 dimensions.
std::vector<int64_t> SampleOffsets(const std::vector<int64_t>& shape, int64_t count, uint64_t seed);

}  // namespace plait::cuda
