#include <dlfcn.h>

#include "gpu_worker/backends/cpu/onednn/open_onednn.h"
#include "gpu_worker/backends/cpu/team/openmp.h"

extern "C" {

void GOMP_parallel(void (*run)(void*), void* data, unsigned threads, unsigned flags) {
  plait::OpenMpParallel(run, data, threads, flags);
}
void GOMP_barrier() { plait::OpenMpBarrier(); }
int omp_get_max_threads() { return plait::OpenMpMaxThreads(); }
int omp_get_num_threads() { return plait::OpenMpThreads(); }
int omp_get_thread_num() { return plait::OpenMpThread(); }
int omp_in_parallel() { return plait::OpenMpIsParallel(); }

// By the names that the private copy calls them by, so that a program whose file was told to need
// the copy in the place of libdnnl runs with it as well: a wheel holds one oneDNN for all.
void PLMP_parallel(void (*run)(void*), void* data, unsigned threads, unsigned flags) {
  plait::OpenMpParallel(run, data, threads, flags);
}
void PLMP_barrier() { plait::OpenMpBarrier(); }
int plm_get_max_threads() { return plait::OpenMpMaxThreads(); }
int plm_get_num_threads() { return plait::OpenMpThreads(); }
int plm_get_thread_num() { return plait::OpenMpThread(); }
int plm_in_parallel() { return plait::OpenMpIsParallel(); }

}  // extern "C"

namespace plait {

absl::Status OpenOnednn() {
  void (*const ours)(void (*)(void*), void*, unsigned, unsigned) = GOMP_parallel;
  if (dlsym(RTLD_DEFAULT, "GOMP_parallel") == reinterpret_cast<void*>(ours)) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      "cpu: another OpenMP library was loaded before plait's functions (load plait first)");
}

}  // namespace plait
