// The probe kernels of the device constants. Their work is measured in clock cycles, so that it is
// the same on every run and no data hides a cost.
#include <cuda_runtime_api.h>

#include "bench/gpu/session.h"

namespace plait::cuda {
namespace {

__device__ void Spin(long long cycles) {
  const long long start = clock64();
  while (clock64() - start < cycles) {
  }
}

__global__ void EmptyKernel() {}

__global__ void SpinKernel(long long cycles) { Spin(cycles); }

// Reads `count` vectors of 16 bytes `rounds` times. The sum goes to `sink` only if it has one
// special value, so that the reads cannot be dropped.
__global__ void ReadKernel(const float4* __restrict__ data, long long count, long long rounds,
                           float* sink) {
  const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
  const long long first = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  float sum = 0;
  for (long long round = 0; round < rounds; ++round) {
#pragma unroll 8
    for (long long i = first; i < count; i += step) {
      // Past the L1, which would answer the second round.
      const float4 value = __ldcg(data + i);
      sum += value.x + value.y + value.z + value.w;
    }
  }
  if (sum == 12345.678f) *sink = sum;
}

// A pair for programmatic dependent launch. Below sm_90 the edge is an ordinary one.
__global__ void ProducerKernel(long long cycles) {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
#endif
  Spin(cycles);
}

__global__ void ConsumerKernel(long long cycles) {
  Spin(cycles);  // stands for the read of weights, which depends on nobody
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
  Spin(cycles);
}

template <typename Function>
Kernel AsKernel(Function* function) {
  // The runtime takes the host's symbol of a kernel wherever it takes a loaded kernel.
  return reinterpret_cast<Kernel>(reinterpret_cast<void*>(function));
}

}  // namespace

ProbeKernels RealProbeKernels() {
  ProbeKernels probes;
  probes.empty = AsKernel(EmptyKernel);
  probes.spin = AsKernel(SpinKernel);
  probes.read = AsKernel(ReadKernel);
  probes.producer = AsKernel(ProducerKernel);
  probes.consumer = AsKernel(ConsumerKernel);
  return probes;
}

}  // namespace plait::cuda
