#pragma once

#include "gpu_worker/backends/cuda/cudnn/library.h"
#include "gpu_worker/simulated_gpu/cudnn/cudnn_calls.h"
#include "gpu_worker/simulated_gpu/driver/library_function.h"

namespace plait::simulated_gpu {

// cuDNN over the simulated driver: stand-ins for its kernels, in a function table that has exactly
// what plait loads of the library. A map:
//   attributes.h       what each descriptor can be told
//   descriptor.h       what it was told
//   operation_graph.h  the operations that descriptors say, checked
//   evaluate.h         the same in float64
//   graph_kernel.h     as the kernel of a plan
//   engine_list.h      the engines, from cuDNN itself (real_library.h)
//   cudnn_calls.h      the functions, in the files calls_*.cc and finalize.cc
// Where cuDNN refuses a wrong use, so does this, with the same status; and where it would only go
// well by luck, such as with a descriptor that is gone, this refuses too.
// The table is valid as long as the process; what uses the device needs a SimulatedDriver.
const cuda::CudnnLibrary& SimulatedCudnn();

// How many descriptors have been made and not destroyed.
int LiveCudnnDescriptors();

// The names, for faults.
#define PLAIT_CUDNN_FUNCTION(name, member, needs_context) \
  inline constexpr const char* kNameOf_##name = #name;
#include "gpu_worker/simulated_gpu/cudnn/cudnn_functions.def"
#undef PLAIT_CUDNN_FUNCTION

}  // namespace plait::simulated_gpu
