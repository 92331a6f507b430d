// plait_omp.so: the OpenMP library of the private copy of oneDNN (make_private.py). It only passes
// calls on to whoever opened both, so that it needs no code of the project's and no symbol of the
// process's. Until then all regions run on the calling thread.
#include "gpu_worker/backends/cpu/onednn/private_openmp.h"

static struct PlaitOpenMp calls;

void plait_omp_pass_to(const struct PlaitOpenMp* functions) { calls = *functions; }

void PLMP_parallel(void (*run)(void*), void* data, unsigned threads, unsigned flags) {
  if (calls.parallel != 0) {
    calls.parallel(run, data, threads, flags);
  } else {
    run(data);
  }
}

void PLMP_barrier(void) {
  if (calls.barrier != 0) calls.barrier();
}

int plm_get_max_threads(void) { return calls.max_threads != 0 ? calls.max_threads() : 1; }
int plm_get_num_threads(void) { return calls.num_threads != 0 ? calls.num_threads() : 1; }
int plm_get_thread_num(void) { return calls.thread_num != 0 ? calls.thread_num() : 0; }
int plm_in_parallel(void) { return calls.in_parallel != 0 ? calls.in_parallel() : 0; }
