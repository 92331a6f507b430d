#pragma once

#include <string>

#include "gpu_worker/backends/cuda/driver/result.h"

namespace plait::cuda {

// Compiles CUDA C++ to a cubin for "sm_80", "sm_90a", "sm_100" ... Needs no device. Thread-safe.
// A cubin and not PTX, since the driver would have to compile PTX once more when it is loaded. No
// fast-math option is given: division, square root and the functions have the accuracy that CUDA
// documents. Takes some tens of milliseconds for one of our kernels.
// Errors: kUnavailable without libnvrtc.so.13; kInternal with the compiler's words.
Result<std::string> CompileToCubin(const std::string& source, const std::string& architecture);

// A cubin, and what was said of it: the compiler's warnings, and ptxas's lines about each kernel
// (registers, shared memory, spills: --ptxas-options=-v).
struct CubinWithLog {
  std::string cubin;
  std::string log;
};
Result<CubinWithLog> CompileToCubinWithLog(const std::string& source,
                                           const std::string& architecture);

// The same to PTX, with the same options, for a virtual architecture such as "compute_90": what the
// simulated device runs.
Result<std::string> CompileToPtx(const std::string& source, const std::string& architecture);

// "13.0". Errors: kUnavailable without libnvrtc.so.13.
Result<std::string> NvrtcVersion();

// A text that two compilations have in common only if they give the same code: the source, the
// architecture, the options and NVRTC's version.
// Errors: as NvrtcVersion's.
Result<std::string> CompilationKey(const std::string& source, const std::string& architecture);

// The architecture to compile for on a device of this compute capability.
// "sm_90a" for 9.0, so that instructions which exist on that architecture alone may be used; its
// cubins run on no other. Else "sm_" with both numbers.
std::string ArchitectureOf(int sm_major, int sm_minor);

}  // namespace plait::cuda
