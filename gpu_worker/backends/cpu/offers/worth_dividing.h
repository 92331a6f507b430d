#pragma once

#include <cstdint>

#include "optimizer/kernels/kernel.h"

namespace plait {

// When a kernel may gain from taking all threads. A kernel that fails these is not offered wide at
// all, which spares its measurement. Pure and thread-safe.

// 16,384 elements take a core about as long as handing work to another one and back, 1 to 2 us.
constexpr int64_t kWideElementsMin = 16384;

// For kernels whose time is that of their memory: whether the largest tensor that a node writes or
// reads first has kWideElementsMin elements.
bool HasManyElements(const Graph& graph, const Kernel& kernel);

// For kernels that read as much as they write of what may be large: the same of the first output.
bool WritesManyElements(const Graph& graph, const Kernel& kernel);

// For kernels whose time is that of their arithmetic.
bool HasManyFlops(const Graph& graph, const Kernel& kernel);

// Whether each of so many threads has 2^25 operations to do, which take it 0.15 to 0.5 ms: beside
// that, handing work out is nothing, and a second kernel that runs at the same time gains nothing.
// Such a kernel is not offered to fewer threads, which spares the longest of all measurements.
bool HasManyFlopsForEach(const Graph& graph, const Kernel& kernel, int threads);

}  // namespace plait
