#pragma once

#include <initializer_list>

#include <cuda.h>

#include "gpu_worker/backends/cuda/driver/result.h"

namespace plait::cuda {

// The functions of the CUDA driver that plait calls, found in a library opened at run time; tests
// fill it with their own. Immutable and thread-safe. Never closed.
// Not linked, so that a program with this code starts on a machine without a driver; and no CUDA
// runtime between, so that it is built without one.
struct DriverLibrary {
#define PLAIT_DRIVER_FUNCTION(name) decltype(&::name) name = nullptr;
#include "gpu_worker/backends/cuda/driver/driver_functions.def"
#undef PLAIT_DRIVER_FUNCTION

  // A simulated driver: it runs PTX and has no use for cubins.
  bool takes_ptx = false;

  // Names are sonames or paths, tried in order.
  // Errors: kUnavailable, which names the library, or the first function that it lacks.
  static Result<DriverLibrary> Open(std::initializer_list<const char*> names);

  // The process's libcuda.so.1, opened by the first call. A failure is remembered.
  // Errors: kUnavailable.
  static Result<const DriverLibrary*> Get();

  // Ok(), or the driver's words about `call`.
  // Errors: kUnavailable where there is no device or no driver that fits; else kDevice.
  Status Check(const char* call, CUresult code) const;
};

}  // namespace plait::cuda
