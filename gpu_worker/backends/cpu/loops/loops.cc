#include "gpu_worker/backends/cpu/loops/loops.h"

namespace plait {

const LoopTable& Loops() {
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq")) {
    return Avx512Loops();
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return Avx2Loops();
  return GenericLoops();
}

}  // namespace plait
