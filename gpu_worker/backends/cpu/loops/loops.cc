#include "gpu_worker/backends/cpu/loops/loops.h"

namespace plait {

// The sets that the files are compiled with: a table may use all of its set anywhere, so that one
// missing extension rules it out. (Processors with AVX-512 have FMA.) Asking also covers whether
// the system saves the wide registers.
const LoopTable& Loops() {
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq")) {
    return Avx512Loops();
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return Avx2Loops();
  return GenericLoops();
}

}  // namespace plait
