#pragma once

#include <string>

#include "bench/gpu/session.h"
#include "gpu_worker/backends/cuda/driver/owned.h"
#include "gpu_worker/backends/cuda/driver/runtime.h"

namespace plait::cuda {

// The probe kernels of the device constants, compiled for the device when a session opens.
struct LoadedProbes {
  OwnedLibrary library;  // owns the kernels
  ProbeKernels kernels;
};

// Errors: those of CompileToCubin() and the runtime.
Result<LoadedProbes> LoadProbeKernels(Runtime* runtime, const std::string& architecture);

// The text that is compiled.
const char* ProbeSource();

}  // namespace plait::cuda
