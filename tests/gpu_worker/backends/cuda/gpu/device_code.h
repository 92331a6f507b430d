#pragma once

#include <string>

#include "gpu_worker/backends/cuda/driver/runtime.h"

namespace plait::cuda {

// CUDA C++ compiled to what the runtime's device loads: a cubin, or PTX for a simulated one.
// Thread-safe. Errors: as CompileToCubin().
Result<std::string> CompileForDevice(Runtime& runtime, const DeviceFacts& facts,
                                     const std::string& source);

}  // namespace plait::cuda
