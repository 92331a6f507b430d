#pragma once

#include <mutex>

#include "gpu_worker/simulated_gpu/driver/driver_calls.h"

namespace plait::simulated_gpu {

// The driver's functions as C has them. They carry no state, as the driver is the process's: they
// reach the one SimulatedDriver by a pointer. Each is made of the method of its name, so that none
// can be forgotten: a method that is not defined does not link.

enum DriverFunctionIndex {
#define PLAIT_DRIVER_FUNCTION(name) kIndexOf_##name,
#include "gpu_worker/backends/cuda/driver/driver_functions.def"
#undef PLAIT_DRIVER_FUNCTION
};

// The one of the process, or null.
DriverCalls*& TheDriver();

// What every call does first: finds the driver, and hangs or fails where it is to.
CUresult BeginCall(DriverFunctionIndex index, DriverCalls** driver);

// By a method and its place in the list: `Call` is the function.
template <auto kMethod, DriverFunctionIndex kIndex>
struct DriverFunction;

template <typename... Arguments, CUresult (DriverCalls::*kMethod)(Arguments...),
          DriverFunctionIndex kIndex>
struct DriverFunction<kMethod, kIndex> {
  static CUresult Call(Arguments... arguments) {
    DriverCalls* driver = nullptr;
    if (const CUresult code = BeginCall(kIndex, &driver); code != CUDA_SUCCESS) return code;
    const std::lock_guard<std::mutex> lock(driver->mutex());
    return (driver->*kMethod)(arguments...);
  }
};

}  // namespace plait::simulated_gpu
