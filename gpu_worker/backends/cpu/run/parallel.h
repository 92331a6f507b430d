#pragma once

#include <algorithm>
#include <cstdint>

#include <omp.h>

namespace plait {

// How kernels divide their work. OpenMP serves both our loops and oneDNN's, so that there is one
// team of threads; a kernel takes as many of them as the plan says it is wide, and a narrow one
// that runs on a stream of its own takes none but the caller's.

// Calls part(begin, end, thread) for `threads` consecutive parts of [0, count), each in its own
// OpenMP thread. With one thread it is a plain call, which is what kernels inside a parallel region
// are. Parts differ in length by at most one, and an empty one is not called. Returns when all
// parts are done.
// Consecutive parts, because neighbours in memory belong to one thread: no two threads write the
// same cache line but at the borders, and each thread reads front to back. 10 pieces among 4
// threads are [0, 2), [2, 5), [5, 7) and [7, 10). Where the system grants fewer threads than asked
// for, the parts are as many as it granted.
// `part` must not fail; it notes an error in a place of its thread's own. `thread` is below
// `threads`, which is what such places are counted by.
template <typename Part>
void ForEachPart(int threads, int64_t count, const Part& part) {
  if (threads <= 1 || count <= 1) {
    part(int64_t{0}, count, 0);
    return;
  }
#pragma omp parallel num_threads(threads)
  {
    const int64_t team = omp_get_num_threads();
    const int64_t thread = omp_get_thread_num();
    const int64_t begin = count * thread / team;
    const int64_t end = count * (thread + 1) / team;
    if (begin < end) part(begin, end, static_cast<int>(thread));
  }
}

// Sets the number of threads that oneDNN takes for what the current thread creates and runs, and
// restores it. A primitive keeps the number it was created under, so that a width is set both while
// kernels load and while they run.
// The setting is the calling thread's own and reaches no other one, so that lanes do not disturb
// each other. Not to be kept beyond a scope.
class OpenMpWidth {
 public:
  explicit OpenMpWidth(int threads) : before_(omp_get_max_threads()) {
    if (threads != before_) omp_set_num_threads(threads);
  }
  ~OpenMpWidth() { omp_set_num_threads(before_); }
  OpenMpWidth(const OpenMpWidth&) = delete;
  OpenMpWidth& operator=(const OpenMpWidth&) = delete;

 private:
  int before_;
};

}  // namespace plait
