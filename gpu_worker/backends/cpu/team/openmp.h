#pragma once

namespace plait {

// oneDNN divides its work by OpenMP, whose threads would stand beside those of our team and take
// its processors. These are the functions of GCC's OpenMP library that oneDNN calls, on the Team
// that the calling thread leads: a parallel region is as wide as TeamWidth() says. Where no team is
// led, a region runs on the calling thread alone. Regions do not nest: one inside of another runs
// on the thread that meets it. How oneDNN comes to call them is ../onednn/open_onednn.h's.
//
// Each means what libgomp's manual says of the function whose name stands behind it. Thread-safe.
void OpenMpParallel(void (*run)(void*), void* data, unsigned threads, unsigned flags);
void OpenMpBarrier();    // GOMP_barrier
int OpenMpMaxThreads();  // omp_get_max_threads
int OpenMpThreads();     // omp_get_num_threads
int OpenMpThread();      // omp_get_thread_num
int OpenMpIsParallel();  // omp_in_parallel

// Within the scope, threads of regions that the calling thread enters may wait for each other by
// other means than the barrier, as those of oneDNN's matrix products do, which watch a word of
// memory: every region has all of its threads begin. Otherwise one that began with its first
// thread alone, because other programs have the cores, would wait for ever.
class OpenMpWaitScope {
 public:
  OpenMpWaitScope();
  ~OpenMpWaitScope();
  OpenMpWaitScope(const OpenMpWaitScope&) = delete;
  OpenMpWaitScope& operator=(const OpenMpWaitScope&) = delete;

 private:
  const bool before_;
};

}  // namespace plait
