#pragma once

#include <string>

#include "gpu_worker/backends/cuda/driver/result.h"

namespace plait::cuda {

// Compiles CUDA C++ to a cubin for "sm_80", "sm_90a", "sm_100" ... Needs no device. Thread-safe.
// Errors: kUnavailable without libnvrtc.so.13; kInternal with the compiler's words.
Result<std::string> CompileToCubin(const std::string& source, const std::string& architecture);

// The architecture to compile for on a device of this compute capability.
std::string ArchitectureOf(int sm_major, int sm_minor);

}  // namespace plait::cuda
