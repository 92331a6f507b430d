#include "bench/gpu/probe_kernels.h"

#include <utility>

#include "gpu_worker/backends/cuda/driver/nvrtc.h"

namespace plait::cuda {

// Work is measured in clock cycles, so that it is the same on every run and no data hides a cost.
// "read" reads `count` vectors of 16 bytes `rounds` times, past the first-level cache, which would
// answer the second round; the sum goes to `sink` only if it has one special value, so that the
// reads cannot be dropped. "producer" and "consumer" are a pair for programmatic dependent launch:
// the consumer's first half stands for the read of weights, which depends on nobody. Below compute
// capability 9.0 the edge between them is an ordinary one.
const char* ProbeSource() {
  return R"(
__device__ void Spin(long long cycles) {
  const long long start = clock64();
  while (clock64() - start < cycles) {
  }
}
extern "C" __global__ void empty() {}
extern "C" __global__ void spin(long long cycles) { Spin(cycles); }
extern "C" __global__ void read(const float4* __restrict__ data, long long count, long long rounds,
                                float* sink) {
  const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
  const long long first = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  float sum = 0;
  for (long long round = 0; round < rounds; ++round) {
#pragma unroll 8
    for (long long i = first; i < count; i += step) {
      const float4 value = __ldcg(data + i);
      sum += value.x + value.y + value.z + value.w;
    }
  }
  if (sum == 12345.678f) *sink = sum;
}
extern "C" __global__ void producer(long long cycles) {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
#endif
  Spin(cycles);
}
extern "C" __global__ void consumer(long long cycles) {
  Spin(cycles);
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
  Spin(cycles);
}
)";
}

Result<LoadedProbes> LoadProbeKernels(Runtime* runtime, const std::string& architecture) {
  const Result<std::string> cubin = CompileToCubin(ProbeSource(), architecture);
  if (!cubin.ok()) return Error{cubin.error().code, "probe kernels: " + cubin.error().message};
  const Result<Library> library = runtime->LoadLibrary(cubin.value());
  if (!library.ok()) return library.error();
  LoadedProbes probes{OwnedLibrary(runtime, library.value()), {}};
  const std::pair<const char*, Kernel*> wanted[] = {{"empty", &probes.kernels.empty},
                                                    {"spin", &probes.kernels.spin},
                                                    {"read", &probes.kernels.read},
                                                    {"producer", &probes.kernels.producer},
                                                    {"consumer", &probes.kernels.consumer}};
  for (const auto& [name, kernel] : wanted) {
    const Result<Kernel> found = runtime->FindKernel(probes.library.get(), name);
    if (!found.ok()) return found.error();
    *kernel = found.value();
  }
  return probes;
}

}  // namespace plait::cuda
