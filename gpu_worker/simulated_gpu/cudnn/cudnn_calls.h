#pragma once

#include <cudnn.h>

#include "gpu_worker/simulated_gpu/driver/library_calls.h"

namespace plait::simulated_gpu {

// The functions of cuDNN, with the names and types that cudnn.h gives them.
struct CudnnCalls {
  using Status = cudnnStatus_t;

#define PLAIT_CUDNN_FUNCTION(name, member, needs_context) static decltype(::name) name;
#include "gpu_worker/simulated_gpu/cudnn/cudnn_functions.def"
#undef PLAIT_CUDNN_FUNCTION

  // The status for what the driver says to a call of `function`.
  static cudnnStatus_t Fail(const char* function, CUresult code);
};

}  // namespace plait::simulated_gpu
