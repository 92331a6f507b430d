#pragma once

#include <functional>

namespace plait {

// Calls work(i) for every i below `count`, each once, on up to `threads` threads, and returns when
// all are done. Which thread takes which index is not determined, so `work` writes only to its own
// place.
void ParallelFor(int threads, int count, const std::function<void(int)>& work);

}  // namespace plait
