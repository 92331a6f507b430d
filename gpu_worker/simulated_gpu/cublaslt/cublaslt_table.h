#pragma once

#include "gpu_worker/backends/cuda/cublaslt/library.h"
#include "gpu_worker/simulated_gpu/cublaslt/cublaslt_calls.h"
#include "gpu_worker/simulated_gpu/driver/library_function.h"

namespace plait::simulated_gpu {

// cuBLASLt over the simulated driver: stand-ins for its kernels, in a function table that has
// exactly what plait loads of the library. A map:
//   product.h         what the descriptors say
//   algorithms.h      the algorithms, which are not the library's
//   product_kernel.h  one of them for one product, in float64
//   cublaslt_calls.h  the functions, in the files calls_*.cc
// The table is valid as long as the process; what uses the device needs a SimulatedDriver.
const cuda::CublasLtLibrary& SimulatedCublasLt();

// How many descriptors and preferences have been made and not destroyed.
int LiveCublasLtObjects();

// The names, for faults.
#define PLAIT_CUBLASLT_FUNCTION(name, member, needs_context) \
  inline constexpr const char* kNameOf_##name = #name;
#include "gpu_worker/simulated_gpu/cublaslt/cublaslt_functions.def"
#undef PLAIT_CUBLASLT_FUNCTION

}  // namespace plait::simulated_gpu
