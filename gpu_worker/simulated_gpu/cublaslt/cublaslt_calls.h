#pragma once

#include <cublasLt.h>

#include "gpu_worker/simulated_gpu/driver/library_calls.h"

namespace plait::simulated_gpu {

// The functions of cuBLASLt, with the names and types that cublasLt.h gives them. They check what
// the library's manual says that it checks; what a device would only do by luck is refused too. The
// words of cublasLtGetStatusString() for a thread's last failure say more than the library's.
struct CublasLtCalls {
  using Status = cublasStatus_t;

#define PLAIT_CUBLASLT_FUNCTION(name, member, needs_context) static decltype(::name) name;
#include "gpu_worker/simulated_gpu/cublaslt/cublaslt_functions.def"
#undef PLAIT_CUBLASLT_FUNCTION

  // The status for what the driver says to a call of `function`.
  static cublasStatus_t Fail(const char* function, CUresult code);
};

}  // namespace plait::simulated_gpu
