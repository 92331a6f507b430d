#pragma once

#include <functional>

namespace plait {

// Calls work(i) for every i below `count`, each once, on up to `threads` threads, of which the
// caller's is one, and returns when all are done. Indices are handed out one by one, so that long
// and short pieces of work mix well. Which thread takes which index is not determined, so `work`
// writes only to its own place. Threads are started for each call: for work of milliseconds.
// With one thread it is a loop in ascending order.
// REQUIRES: `work` does not fail; what may fail notes it in its own place.
void ParallelFor(int threads, int count, const std::function<void(int)>& work);

}  // namespace plait
